"""Recordings: what they may hold, their file, and recordings of real and emulated servers replayed."""
