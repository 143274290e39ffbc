"""What users see, written down: a re-arrangement of modules has to leave it as it is."""
