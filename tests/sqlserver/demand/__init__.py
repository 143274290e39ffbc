"""Vectors of demand: described workloads, what SQL Server's counters show of them, and what is true."""
