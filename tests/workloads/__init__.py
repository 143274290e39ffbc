"""Seeded workloads: who is there, how large, and how busy at each hour. Shared by reproductions and benches."""
