"""Probes: whether a column writes down what it should not know (SPEC L5, L6, L8, L9, X6)."""
