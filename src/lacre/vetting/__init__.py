"""Vetting new items before release: which to drop, and the evidence (SPEC L7, X2)."""
