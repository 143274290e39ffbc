"""The suite that every connector passes."""
