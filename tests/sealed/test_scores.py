"""Commitments to scores: any change is seen, and what is not opened cannot be guessed (SPEC X4)."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.digest import canonical
from lacre.engine.replies import Answered, Delivery, Failed, Refused, Reply, Truncated
from lacre.errors import IntegrityError
from lacre.registry.items import Part, Payload
from lacre.scoring.outcomes import Outcome
from lacre.sealed.cells import Tables
from lacre.sealed.counts import Exact
from lacre.sealed.records import PublicRun, RoundTables, Times, public_bytes
from lacre.sealed.scores import (
    PREFIX,
    Said,
    Score,
    leaf,
    matches,
    open_scores,
    order,
    proves,
    replies_digest,
    said,
    score_root,
)
from lacre.sealed.scoring import by_rule, item_outcomes

DELIVERY = Delivery(status=200, attempts=1, latency=0.1)
PART = Said(part="", kind="answered", text="Resposta: B")


def score(item: str, repetition: int = 1, outcome: Outcome = Outcome.CORRECT) -> Score:
    return Score(
        run="r", column="m", item=item, repetition=repetition, outcome=outcome, score=None,
        reply_sha256=replies_digest([PART]),
    )  # fmt: skip


def nonces(scores: list[Score]) -> dict[tuple[str, str, int], bytes]:
    return {order(each): hashlib.sha256(repr(order(each)).encode()).digest() for each in scores}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.integers(1, 3)), unique=True, max_size=30),
    st.data(),
)
def test_what_opens_proves_itself_and_no_other(keys: list[tuple[str, int]], data: st.DataObject) -> None:
    scores = [score(*key) for key in keys]
    root = score_root(scores, nonces(scores))
    opened = frozenset(data.draw(st.sets(st.sampled_from([item for item, _ in keys]))) if keys else ())
    found = open_scores(scores, nonces(scores), {order(each): (PART,) for each in scores}, opened)
    assert [each.score for each in found] == sorted((s for s in scores if s.item in opened), key=order)
    assert all(proves(each, root) and matches(each) for each in found)
    for each in found:
        other = msgspec.structs.replace(
            each, score=msgspec.structs.replace(each.score, outcome=Outcome.WRONG)
        )
        assert not proves(other, root)
        assert not matches(msgspec.structs.replace(each, replies=()))


def test_the_order_in_which_scores_come_does_not_matter() -> None:
    scores = [score("a"), score("b"), score("b", 2)]
    assert score_root(scores, nonces(scores)) == score_root(scores[::-1], nonces(scores))


def test_a_leaf_is_what_the_documentation_says() -> None:
    one = score("a")
    content = leaf(one, bytes(32))
    assert content == b"LACRE-SCORE-v1\0" + bytes(32) + canonical(one)
    assert content.startswith(PREFIX)
    assert score_root([one], {order(one): bytes(32)}) == hashlib.sha256(b"\0" + content).hexdigest()
    with pytest.raises(ValueError, match="a nonce has 32 bytes, not 31"):
        leaf(one, bytes(31))


@pytest.mark.parametrize(
    ("reply", "kind", "text", "cause"),
    [
        (Answered(text="B", finish="stop", raw_finish="stop", delivery=DELIVERY), "answered", "B", None),
        (Refused(text="Não.", finish="refusal", raw_finish=None, delivery=DELIVERY), "refused", "Não.", None),
        (Truncated(text="B", finish="length", raw_finish=None, delivery=DELIVERY), "truncated", "B", None),
        (Failed(cause="timeout", detail="-", delivery=DELIVERY), "failed", "", "timeout"),
    ],
)
def test_what_scoring_reads_of_a_reply_is_what_opens(
    reply: Reply, kind: str, text: str, cause: str | None
) -> None:
    told = said("a", reply)
    assert (told.part, told.kind, told.text, told.cause) == ("a", kind, text, cause)


def test_a_class_is_shared_by_all_parts_or_left_to_judges() -> None:
    parts = (Part(id="a", prompt="?", expected="-"), Part(id="b", prompt="?", expected="-"))
    essay = Payload(kind="open", stem="?", parts=parts)
    gone = [Said(part=part, kind="failed", text="", cause="timeout") for part in "ab"]
    assert by_rule(essay, gone) is Outcome.FAILURE
    assert by_rule(essay, [gone[0], Said(part="b", kind="answered", text="Porque sim.")]) is None


def test_an_item_counts_as_most_of_its_runs_and_the_first_where_they_are_even() -> None:
    wrong = Outcome.WRONG
    runs = [score("a", 1, wrong), score("a", 2), score("a", 3), score("b", 1, wrong), score("b", 2)]
    assert item_outcomes(runs) == {"a": Outcome.CORRECT, "b": wrong}


def record(**changes: object) -> PublicRun:
    values: dict[str, object] = {
        "benchmark": "exemplo", "round": "exemplo/1", "run": "r", "column": "m", "version": "0.1.0",
        "code": "0" * 64, "card": "0" * 64, "templates": {}, "tables": "0" * 64, "intent": "0" * 64, "items": 1,
        "items_root": "0" * 64, "repetitions": Times(choice=1, open=3), "undecided": None,
        "undecided_answers": 0, "ungraded": 0, "counts": (), "leaves": 1, "scores": "0" * 64,
    }  # fmt: skip
    return PublicRun(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"run": "Quem viu a jabuticabeira?"},
        {"column": "x" * 200},
        {"version": "Nove horas"},
        {"templates": {"stem": "0" * 64}},
        {"templates": {"choice": "texto"}},
        {"undecided": "Rui"},
        {"method": "Rui"},
        {"counts": (Exact(cell="all", items=1, classes={"Rui": 1}),)},  # type: ignore[dict-item]
        {"counts": (Exact(cell="a" * 121, items=1, classes={}),)},
        {"items": -1},
    ],
)
def test_what_does_not_fit_the_schema_does_not_leave(changes: dict[str, object]) -> None:
    assert public_bytes(record())
    with pytest.raises(IntegrityError, match="does not fit its schema"):
        public_bytes(record(**changes))


def test_reasons_in_tables_are_in_our_own_words() -> None:
    tables = RoundTables(
        benchmark="exemplo", round="exemplo/1", items=(), graded=(), axes=(), smallest=20, share="1/2", margin="0",
        tables=Tables(cells=(), left_out={"all": "Quem viu?"}, fewest=None),
    )  # fmt: skip
    with pytest.raises(IntegrityError, match="does not fit its schema"):
        public_bytes(tables)
