"""Waivers: what one needs, and what its names stand for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.errors import RecordError
from lacre.registry.items import Payload
from lacre.registry.verdicts import Finding
from lacre.registry.waivers import Waiver, add_waivers, finding_id, payload_sha256, read_waivers

FOUND = Finding(
    item="q1",
    check="overlap",
    corpus="textos/leis",
    shard="a.txt",
    document="a.txt",
    bytes=(10, 90),
    fields=("stem",),
    item_words=(0, 14),
    words=14,
    score=1.0,
    coverage=0.5,
    channel="exact",
    class_="statute",
    documents=1,
    snippet="",
)
ONE = Waiver(
    item="q1",
    payload_sha256="0" * 64,
    finding=finding_id(FOUND),
    documents=1,
    reason="lei",
    who="Comissão",
    when="2031-05-02",
)


@pytest.mark.parametrize(
    "change",
    [
        {"item": "q2"},
        {"check": "rare_sentence"},
        {"corpus": "textos/outras"},
        {"shard": "b.txt"},
        {"document": "7"},
        {"bytes": (10, 91)},
        {"item_words": (1, 14)},
    ],
)
def test_another_place_has_another_name(change: dict[str, object]) -> None:
    assert finding_id(msgspec.structs.replace(FOUND, **change)) != finding_id(FOUND)


@pytest.mark.parametrize(
    "change",
    [
        {"corpus": "/mnt/outro/leis"},
        {"documents": 9},
        {"class_": "copy"},
        {"snippet": "x"},
        {"coverage": 1.0},
    ],
)
def test_the_same_place_keeps_its_name(change: dict[str, object]) -> None:
    assert finding_id(msgspec.structs.replace(FOUND, **change)) == finding_id(FOUND)


@given(st.text(min_size=1), st.text(min_size=1))
def test_parts_of_a_name_never_run_together(shard: str, document: str) -> None:
    whole = msgspec.structs.replace(FOUND, shard=shard + document, document=document)
    assert finding_id(whole) != finding_id(msgspec.structs.replace(FOUND, shard=shard, document=document * 2))


def test_any_change_of_the_text_changes_its_hash_and_nothing_else_does() -> None:
    stem = Payload(kind="open", stem="Por que o sino toca?")
    assert payload_sha256(stem) == payload_sha256(
        Payload(kind="open", stem="Por que o sino toca?", images=())
    )
    assert payload_sha256(stem) != payload_sha256(Payload(kind="open", stem="Por que o sino tocou?"))
    assert payload_sha256(stem) != payload_sha256(
        Payload(kind="open", stem="Por que o sino toca?", key="Festa.")
    )


def test_waivers_are_added_behind_the_others_once_each(tmp_path: Path) -> None:
    path = tmp_path / "registry" / "waivers.jsonl"
    assert read_waivers(path) == ()
    assert add_waivers(path, [ONE]) == (ONE,)
    before = path.read_bytes()
    two = msgspec.structs.replace(ONE, finding="f" + "1" * 16)
    assert add_waivers(path, [ONE, two]) == (two,)
    assert path.read_bytes().startswith(before)
    assert read_waivers(path) == (ONE, two)
    assert add_waivers(path, [ONE, two]) == ()
    assert len(path.read_bytes().splitlines()) == 2


def test_the_same_finding_in_more_documents_can_be_waived_again(tmp_path: Path) -> None:
    more = msgspec.structs.replace(ONE, documents=3)
    assert add_waivers(tmp_path / "w.jsonl", [ONE, more]) == (ONE, more)


@pytest.mark.parametrize("field", ["item", "payload_sha256", "finding", "reason", "who", "when"])
def test_a_waiver_that_lacks_something_is_refused_and_nothing_is_written(tmp_path: Path, field: str) -> None:
    path = tmp_path / "w.jsonl"
    add_waivers(path, [ONE])
    before = path.read_bytes()
    bad = msgspec.structs.replace(ONE, documents=2, **{field: " "})
    with pytest.raises(RecordError):
        add_waivers(path, [bad])
    assert path.read_bytes() == before
    path.write_bytes(before + msgspec.json.encode(bad) + b"\n")
    with pytest.raises(RecordError) as caught:
        read_waivers(path)
    assert [fault.line for fault in caught.value.faults] == [2]


def test_a_file_without_a_last_line_end_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "w.jsonl"
    path.write_bytes(msgspec.json.encode(ONE))
    add_waivers(path, [msgspec.structs.replace(ONE, documents=2)])
    assert len(read_waivers(path)) == 2
