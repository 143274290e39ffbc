"""Heat inside units: turnover, memory, concentration."""
