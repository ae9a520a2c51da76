"""Text in common between items and corpora: the kernel, the items' index, runs and the rarest sentence.

Index the items, stream the corpus: items are few, so their seeds go into a small table, and any amount of
text is read past it once.
"""
