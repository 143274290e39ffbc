"""Approved moves: from the gate to the last statement, and then whether they helped."""
