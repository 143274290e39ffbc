"""The live screen without a terminal."""
