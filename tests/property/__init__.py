"""What holds for every input of the policies."""
