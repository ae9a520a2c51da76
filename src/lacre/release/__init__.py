"""Releases: built, guarded, signed, published, and verified by strangers (SPEC L9, L22, X3, X5, X7)."""
