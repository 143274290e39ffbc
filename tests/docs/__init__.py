"""What is written for people agrees with the code."""
