"""Described workloads of Oracle, with what its views would show and what sessions waited for."""
