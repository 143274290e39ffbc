"""The command line from outside: what it prints, how it ends."""
