"""The buffer cache of the emulated server: which blocks it holds, and where they lie in files."""
