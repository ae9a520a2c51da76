"""Split and rotation: which private items open, when, and how an outsider checks it (SPEC L2, L3)."""
