"""Heat inside units: choice, looks."""
