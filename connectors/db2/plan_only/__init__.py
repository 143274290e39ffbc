"""Db2 for i and Db2 for z/OS: looked at, planned for, never changed. What a plan would do is written as a script."""
