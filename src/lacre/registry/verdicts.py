"""What vetting says: findings with their evidence, and one verdict per item (SPEC L7, X2)."""

from __future__ import annotations

from typing import Literal

from lacre.registry.records import Record

Check = Literal["overlap", "rare_sentence"]
Channel = Literal["exact", "folded"]
Class = Literal["copy", "quotation", "statute", "boilerplate", "name"]
Decision = Literal["drop", "unknown", "review", "untestable", "keep"]


class Finding(Record, omit_defaults=False, rename={"class_": "class"}):
    """One place in a corpus that shares text with an item.

    Attributes:
        item: id of the item.
        check: ``overlap`` (a run of words in common) or ``rare_sentence`` (its rarest sentence, aligned).
        corpus: the corpus as it was named; ``shard``: path inside it; ``document``: id or row in the shard.
        bytes: [start, end) of the match in the UTF-8 text of the document.
        fields: which fields of the item the match covers: ``passage``, ``stem``, ``option:A``, ``part:a``,
            ``expected:a``; and ``key`` when the right option or an expected answer is among them.
        item_words: [start, end) of the match in the words of the item as presented.
        words: words in common (overlap: length of the run; rare sentence: words of the sentence).
        score: 1 for an overlap; for a rare sentence the similarity of the alignment, 0 to 1.
        coverage: share of the item's words that this document covers, 0 to 1.
        channel: ``exact`` when accents agree too, ``folded`` when they do not.
        class_: copy, quotation, statute, boilerplate or name; written as ``class``.
        documents: documents of this corpus in which the item has a finding of this check.
        snippet: the matched text, with some words around it, the match between ``⟦`` and ``⟧``.
    """

    item: str
    check: Check
    corpus: str
    shard: str
    document: str
    bytes: tuple[int, int]
    fields: tuple[str, ...]
    item_words: tuple[int, int]
    words: int
    score: float
    coverage: float
    channel: Channel
    class_: Class
    documents: int
    snippet: str


class Verdict(Record, omit_defaults=False):
    """What to do with one item, why, and on how many findings.

    Attributes:
        reasons: one short sentence each, the deciding one first.
        longest_run: words of the longest run in common, 0 when there is none.
        coverage: the largest share of the item covered by one document, 0 to 1.
        findings: number of findings kept in ``findings.jsonl`` for this item.
    """

    item: str
    verdict: Decision
    reasons: tuple[str, ...]
    longest_run: int
    coverage: float
    findings: int
