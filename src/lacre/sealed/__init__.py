"""Sealed runs: the private score, without a private word leaving (SPEC X4 X5, DESIGN section 8)."""
