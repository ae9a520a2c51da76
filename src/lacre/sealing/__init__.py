"""What keeps private items secret and provably fixed: vault, commitments, keys, signatures, timestamps."""
