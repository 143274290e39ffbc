"""Workloads described in words, what each documented counter of Db2 shows of them, and what sessions waited for."""
