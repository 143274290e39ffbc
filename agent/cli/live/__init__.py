"""The live screen: what it shows, how keys change it, and the commands that keys run."""
