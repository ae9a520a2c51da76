"""What is excused (a declared passage, an approved set phrase) hides no fewer words that are not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vetting.making import FILLER, LAW, RULES, STEM, folder, quoting, verdict, vet

from lacre.registry.items import Candidate, Payload
from lacre.vetting.evidence import DocumentKey, Excerpt, Found, Place
from lacre.vetting.vet import vet as vetted

ASKED = (
    "Leia com atenção o texto a seguir e depois responda à pergunta escolhendo a única alternativa que esteja de "
    "acordo com ele e com o enunciado."
)


@pytest.mark.parametrize("where", ["in other documents", "in the same document"])
def test_a_long_set_phrase_that_is_approved_hides_no_shorter_run_of_the_items_own(
    tmp_path: Path, where: str
) -> None:
    own = f"{FILLER} {' '.join(STEM.split()[:13])} {FILLER}"
    if where == "in other documents":
        texts = {f"b{k}_txt": f"{FILLER} {ASKED} {FILLER} {k}" for k in range(7)} | {"z_txt": own}
    else:
        texts = {"a_txt": f"{FILLER * 90} {ASKED} " * 25 + own}
    source = folder(tmp_path / "corpus", **texts)
    item = Candidate(id="q1", payload=Payload(kind="open", stem=f"{ASKED} {STEM}"))
    with ThreadPoolExecutor(1) as executor:
        found = vetted([item], [source], RULES, executor=executor, phrases=[ASKED])
    one = verdict(found)
    assert one.verdict == "drop"
    assert one.reasons[0].startswith("13 words in a row in ")


def test_a_declared_passage_that_stands_everywhere_hides_no_run_of_the_items_own(tmp_path: Path) -> None:
    texts = {f"b{k}_txt": f"{FILLER} {LAW} {FILLER} {k}" for k in range(7)}
    source = folder(tmp_path / "corpus", **texts, z_txt=f"{FILLER} {' '.join(STEM.split()[:13])} {FILLER}")
    assert verdict(vet([quoting()], source)).verdict == "drop"


def test_what_is_excused_and_hides_nothing_is_shown_as_before(tmp_path: Path) -> None:
    texts = {f"b{k}_txt": f"{FILLER} {STEM} {FILLER} {k}" for k in range(7)}
    source = folder(tmp_path / "corpus", **texts, z_txt=f"{FILLER} {LAW} {FILLER}")
    found = vet([quoting()], source)
    assert verdict(found).verdict == "drop"
    shown = [finding.shard for finding in found.findings if finding.check == "overlap"]
    assert shown == [f"b{k}.txt" for k in range(5)]


def run_at(number: int, first: int, last: int) -> Place:
    """A run of words of an item in a document."""
    return Place(
        item=0, sentence=False, shard="a", document=str(number), key=DocumentKey("a", 0, number), start=first, end=last,
        first=first, last=last, score=1.0, coverage=0.5, excerpt=Excerpt("", "", ""), around=b"", near=((first, last),),
    )  # fmt: skip


def gathered(documents: Sequence[Sequence[Place]]) -> Found:
    """What is kept of whole documents."""
    raw, found = Found(), Found()
    raw.documents[0, False] = len(documents)
    raw.places[0, False] = {places[0].key: list(places) for places in documents}
    found.merge(raw)
    return found


@given(seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_in_whatever_order_shards_come_the_same_documents_are_kept_and_every_widest_run(seed: int) -> None:
    chance = random.Random(seed)
    documents = []
    for number in range(chance.randint(1, 40)):
        firsts = [chance.randint(0, 40) for _ in range(chance.randint(1, 3))]
        documents.append([run_at(number, first, first + chance.randint(8, 30)) for first in firsts])
    every = list(documents)
    whole = gathered(documents)
    chance.shuffle(documents)
    parted = Found()
    while documents:
        parted.merge(gathered(documents[:7]))
        del documents[:7]
    assert parted.places == whole.places
    assert parted.documents == whole.documents
    spans = {place.span for places in every for place in places}
    widest = {
        (first, last)
        for first, last in spans
        if not any(begin <= first and last <= end and (begin, end) != (first, last) for begin, end in spans)
    }
    kept = {place.span for places in whole.places[0, False].values() for place in places}
    assert widest <= kept
