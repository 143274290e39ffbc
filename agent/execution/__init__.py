"""Carrying out what was approved: admission, attempts, reconciliation with the catalog, progress."""
