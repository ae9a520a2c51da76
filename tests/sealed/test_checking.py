"""An outsider checks the scores of round 1 on the items that opened, from public files alone (SPEC X4)."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.server import Server
from tests.sealed.making import Sealing, items, open_scores, sealing

from lacre.cli import run
from lacre.digest import canonical, sha256
from lacre.errors import Exit, IntegrityError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Exposure, Freeze, RunAbort, RunIntent, RunResult, Split
from lacre.registry.sealed_runs import sealed_runs
from lacre.scoring.outcomes import Outcome
from lacre.sealed.checking import chance
from lacre.sealed.ending import SCORES
from lacre.sealed.opening import opened_scores, read_scores, scores_bytes
from lacre.sealed.records import document, run_place, scores_place, tables_place
from lacre.sealed.scores import Score, order, score_root
from lacre.sealing.keys import key_from

OPENED = scores_place("exemplo", 1)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Sealing:
    """Two columns scored in round 1; the first closing carried out, the scores of what opened are open."""
    sealed = sealing(tmp_path_factory.mktemp("rounds"), server.endpoint("openai"), 240)
    sealed.run()
    sealed.run(card=msgspec.structs.replace(sealed.column, id="outra", model="modelo-2"))
    sealed.close()
    open_scores(sealed)
    return sealed


@pytest.fixture
def outside(rounds: Sealing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the public files, and nothing else; we are in it."""
    shutil.copytree(rounds.root, tmp_path / "outside")
    monkeypatch.chdir(tmp_path / "outside")
    return tmp_path / "outside"


Check = Callable[[], tuple[int, Any]]


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    """What `lacre run check-scores` finds: its exit code, and its JSON."""

    def checked() -> tuple[int, Any]:
        capsys.readouterr()
        code = run(["run", "check-scores", "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else said.err

    return checked


def findings(found: Any) -> list[str]:
    said: list[str] = [what for each in found["runs"] for what in each["findings"]]
    return said + list(found["findings"])


def test_two_rounds_hold(outside: Path, check: Check) -> None:
    code, found = check()
    assert code == Exit.CLEAN, findings(found)
    first = found["runs"][0]
    assert (first["items"], first["opened"], first["scores"], first["opened_graded"]) == (240, 96, 96, 96)
    assert 0 < float(first["chance"]) <= 1
    assert (outside / OPENED).read_bytes().count(b"\n") == 192


def test_the_table_says_what_was_published_beside_what_opened(
    outside: Path, rounds: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "check-scores", "--key", rounds.play.key.fingerprint]) == Exit.CLEAN
    said = capsys.readouterr()
    assert " of 96\t" in said.out
    assert "all that opened of 2 sealed runs holds" in said.err
    assert run(["run", "check-scores", "--key", "0" * 64]) == Exit.INTEGRITY
    assert run(["run", "check-scores"]) == Exit.CLEAN
    assert "Whose key signed is not shown" in capsys.readouterr().err


def altered(place: Path, line: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Change one line of a file of canonical JSON."""
    lines = place.read_bytes().splitlines()
    value = json.loads(lines[line])
    change(value)
    lines[line] = canonical(value)
    place.write_bytes(b"\n".join(lines) + b"\n")


def other_class(value: dict[str, Any]) -> None:
    value["score"]["outcome"] = "wrong" if value["score"]["outcome"] == "correct" else "correct"


def other_reply(value: dict[str, Any]) -> None:
    value["replies"][0]["text"] += " "


def other_reply_and_digest(value: dict[str, Any]) -> None:
    other_reply(value)
    value["score"]["reply_sha256"] = sha256(canonical(value["replies"]))


def other_nonce(value: dict[str, Any]) -> None:
    value["nonce"] = "0" * 64


def other_item(value: dict[str, Any]) -> None:
    value["score"]["item"] = "p9999"


def other_place(value: dict[str, Any]) -> None:
    value["place"] ^= 1


def other_run(value: dict[str, Any]) -> None:
    value["score"]["run"] = "another"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (other_class, "the leaf was altered"),
        (other_nonce, "the leaf was altered"),
        (other_place, "the leaf was altered"),
        (other_reply, "the reply is not the one"),
        (other_reply_and_digest, "the leaf was altered"),
        (other_item, "is of no opened item"),
        (other_run, "1 scores were opened of run 'another'"),
    ],
)
def test_one_altered_leaf_or_reply_is_found(
    outside: Path, check: Check, change: Callable[[dict[str, Any]], None], what: str
) -> None:
    altered(outside / OPENED, 7, change)
    code, found = check()
    assert code == Exit.INTEGRITY
    assert any(what in each for each in findings(found)), findings(found)


def test_one_missing_leaf_is_found(outside: Path, check: Check) -> None:
    lines = (outside / OPENED).read_bytes().splitlines(keepends=True)
    (outside / OPENED).write_bytes(b"".join(lines[:5] + lines[6:]))
    code, found = check()
    assert code == Exit.INTEGRITY
    assert "1 score of items that opened is missing, such as that of" in findings(found)[0]
    (outside / OPENED).unlink()
    code, found = check()
    assert code == Exit.INTEGRITY
    assert "96 scores of items that opened are missing" in findings(found)[0]


def test_a_leaf_that_comes_twice_is_found(outside: Path, check: Check) -> None:
    lines = (outside / OPENED).read_bytes().splitlines(keepends=True)
    (outside / OPENED).write_bytes(b"".join([lines[0], *lines]))
    code, found = check()
    assert code == Exit.INTEGRITY
    assert "was opened twice" in findings(found)[0]


def test_a_line_that_is_no_score_is_named(outside: Path, check: Check) -> None:
    with (outside / OPENED).open("ab") as file:
        file.write(b'{"score": 1}\n')
    code, said = check()
    assert code == Exit.BAD_INPUT
    assert "scores-opened.jsonl:193" in said


def records(outside: Path) -> list[Path]:
    return sorted((outside / run_place("exemplo", "x")).parent.glob("*.json"))


def test_published_counts_that_were_changed_are_found(outside: Path, check: Check) -> None:
    place = records(outside)[0]
    place.write_bytes(place.read_bytes().replace(b'"leaves": 240', b'"leaves": 241'))
    code, found = check()
    assert code == Exit.INTEGRITY
    assert "is not the file that the ledger fixed" in findings(found)[0]
    place.unlink()
    code, found = check()
    assert "no such file" in findings(found)[0]
    (outside / tables_place("exemplo", "exemplo/1")).write_text("{}")
    code, found = check()
    assert code == Exit.INTEGRITY


def rewritten(outside: Path, sealed: Sealing, change: Callable[[Any], list[Any] | None]) -> None:
    """The ledger as its keeper could have written it: each event changed, dropped or doubled, and signed again."""
    path = outside / "registry/ledger.jsonl"
    before = ledgers.read(path)
    after = ledgers.Ledger((), b"")
    intents: dict[str, str] = {}
    for line in before.lines:
        for event in change(line.event) or []:
            if isinstance(event, RunResult | RunAbort) and event.run in intents:
                event = msgspec.structs.replace(event, intent=intents[event.run])  # noqa: PLW2901 - as told
            after = ledgers.appended(
                after, [event], at=line.at, signer=sealed.play.key if line.sig is not None else None
            )
            if isinstance(event, RunIntent):
                intents.setdefault(event.run, after.head)
    path.write_bytes(after.content)


def twice(event: Any) -> list[Any]:
    return [event, event] if isinstance(event, RunResult) else [event]


def without_result(event: Any) -> list[Any]:
    return [] if isinstance(event, RunResult) else [event]


def given_up(event: Any) -> list[Any]:
    if not isinstance(event, RunResult):
        return [event]
    return [RunAbort(benchmark="exemplo", run=event.run, intent=event.intent, reason="bad luck", replies=240)]


def same_column(event: Any) -> list[Any]:
    return [msgspec.structs.replace(event, column="local") if isinstance(event, RunIntent) else event]


def other_scores(event: Any) -> list[Any]:
    return [msgspec.structs.replace(event, scores="0" * 64) if isinstance(event, RunResult) else event]


def other_items(event: Any) -> list[Any]:
    return [msgspec.structs.replace(event, root="0" * 64) if isinstance(event, RunIntent) else event]


def strange_items(event: Any) -> list[Any]:
    return [msgspec.structs.replace(event, items=("zz",)) if isinstance(event, Exposure) else event]


def after_the_draw() -> Callable[[Any], list[Any]]:
    """Has every result written only once it is known which items open."""
    held: list[Any] = []

    def change(event: Any) -> list[Any]:
        if isinstance(event, RunResult):
            held.append(event)
            return []
        return [event, *held] if isinstance(event, Split) else [event]

    return change


def test_scores_that_came_when_the_draw_could_be_known_are_found(outside: Path, check: Check) -> None:
    path = outside / "registry/ledger.jsonl"
    after = ledgers.Ledger((), b"")
    key = key_from(bytes(32))
    lines = ledgers.read(path).lines
    freeze = next(line.event for line in lines if isinstance(line.event, Freeze))
    early = msgspec.structs.replace(freeze, due="2020-01-01T12:00:01Z")
    first = next(n for n, line in enumerate(lines) if isinstance(line.event, RunIntent))
    for number, line in enumerate(lines):
        signer = key if line.sig is not None else None
        if number == first:
            after = ledgers.appended(after, [early], at=line.at, signer=key)
        after = ledgers.appended(after, [line.event], at=line.at, signer=signer)
    path.write_bytes(after.content)
    code, found = check()
    assert code == Exit.INTEGRITY
    late = "tells its scores when the randomness of its round was due, and could be known"
    assert sum(late in what for what in findings(found)) == 2


def other_messages(event: Any) -> list[Any]:
    if isinstance(event, RunIntent) and event.column == "outra":
        return [msgspec.structs.replace(event, templates="0" * 64)]
    return [event]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (other_messages, "exemplo/1 asked with 2 different sets of messages"),
        (after_the_draw(), "ends it after the draw of its round"),
        (twice, "it ends 2 times"),
        (without_result, "it began and never ended"),
        (given_up, "96 scores were opened of it, though it has no result"),
        (same_column, "column 'local' had 2 runs in exemplo/1"),
        (other_scores, "the leaf was altered"),
        (other_items, "the items that were shown are not those of its intent"),
        (strange_items, "items that were never committed to: zz"),
    ],
)
def test_a_keeper_who_rewrites_the_ledger_is_found_out(
    outside: Path, rounds: Sealing, check: Check, change: Callable[[Any], list[Any]], what: str
) -> None:
    rewritten(outside, rounds, change)
    code, found = check()
    assert code == Exit.INTEGRITY
    assert any(what in each for each in findings(found)), findings(found)


def added(path: Path, sealed: Sealing, *, signed: bool) -> None:
    """A line at the end of the ledger that gives up a run which never began."""
    abort = RunAbort(benchmark="exemplo", run="none", intent="0" * 64, reason="x", replies=0)
    longer = ledgers.appended(ledgers.read(path), [abort], at="2025-01-01T00:00:00Z", signer=sealed.play.key)
    last = longer.lines[-1] if signed else msgspec.structs.replace(longer.lines[-1], by=None, sig=None)
    with path.open("ab") as file:
        file.write(ledgers.line_bytes(last))


def test_lines_that_nobody_signed_are_found(outside: Path, rounds: Sealing, check: Check) -> None:
    added(outside / "registry/ledger.jsonl", rounds, signed=False)
    code, said = check()
    assert code == Exit.INTEGRITY
    assert "nobody signed" in said


def test_an_end_of_what_never_began_is_found(outside: Path, rounds: Sealing, check: Check) -> None:
    added(outside / "registry/ledger.jsonl", rounds, signed=True)
    code, found = check()
    assert code == Exit.INTEGRITY
    assert any("ends run 'none', which never began" in each for each in findings(found))


def test_counts_that_cannot_be_are_found_though_the_ledger_fixes_them(
    outside: Path, rounds: Sealing, check: Check
) -> None:
    place = records(outside)[0]
    value = json.loads(place.read_bytes())
    whole = value["counts"][0]
    whole["classes"] = dict.fromkeys(whole["classes"], 0) | {"correct": 240}
    value["counts"][1] = {
        "count": "bounded",
        "cell": "area=direito",
        "items": 120,
        "side": "at least",
        "correct": 119,
    }
    value["counts"][2] = {
        "count": "bounded",
        "cell": "area=saude",
        "items": 120,
        "side": "at most",
        "correct": 1,
    }
    value["card"] = "0" * 64
    content = msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
    place.write_bytes(content)

    def fixed(event: Any) -> list[Any]:
        mine = isinstance(event, RunResult) and event.run == value["run"]
        return [msgspec.structs.replace(event, record=sha256(content)) if mine else event]

    rewritten(outside, rounds, fixed)
    code, found = check()
    assert code == Exit.INTEGRITY
    said = " ".join(findings(found))
    assert "240 of 240 were published as correct" in said
    assert "at least 119 correct were published" in said
    assert "at most 1 correct were published" in said
    assert "its record says card 0000" in said


def test_an_opening_that_is_not_the_item_stops_the_check(outside: Path, check: Check) -> None:
    place = outside / "registry/exemplo/rounds/0001/openings.jsonl"
    place.write_bytes(place.read_bytes().replace(b"gaivotas", b"garotas!", 1))
    code, said = check()
    assert code == Exit.INTEGRITY
    assert "its opening does not hold" in said


def test_the_vault_opens_only_what_it_committed_to(rounds: Sealing, tmp_path: Path) -> None:
    shutil.copytree(rounds.play.vault_folder, tmp_path / "vault")
    own, rounds.play.vault_folder = rounds.play.vault_folder, tmp_path / "vault"
    try:
        ledger = rounds.play.public.ledger
        runs = sealed_runs(ledger, "exemplo")
        opened = frozenset(each.id for each in rounds.play.public.openings(1))
        name = next(iter(runs))
        with rounds.play.vault() as vault:
            kept = vault.document(document(name, SCORES)) or b""
            with vault.change() as change:
                change.keep(document(name, SCORES), kept.replace(b'"correct"', b'"wrong"', 1))
            with pytest.raises(IntegrityError, match="are not those that the ledger committed to"):
                opened_scores(vault, runs, opened)
            with vault.change() as change:
                change.forget(document(name, SCORES))
            with pytest.raises(IntegrityError, match="the vault lacks its scores"):
                opened_scores(vault, runs, opened)
            assert opened_scores(vault, runs, frozenset()) == ()
    finally:
        rounds.play.vault_folder = own


def test_a_run_of_the_present_round_is_no_finding(
    rounds: Sealing, tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("workspace", "vault"):
        shutil.copytree(rounds.root.parent / name, tmp_path / name)
    rest = msgspec.structs.replace(rounds.column)
    play = type(rounds.play)(
        root=tmp_path / "workspace",
        vault_folder=tmp_path / "vault",
        identity=rounds.play.identity,
        key=rounds.play.key,
        now=rounds.play.now,
        draws=rounds.play.draws,
    )
    again = Sealing(play, rest)
    play.add(items(300, 96), "b2")
    again.begin()
    monkeypatch.chdir(play.root)
    code, found = check()
    assert code == Exit.CLEAN, findings(found)
    assert [each["standing"] for each in found["runs"]] == ["scored", "scored", "under way"]
    # The whole of round 2 holds 144 items of round 1 and 96 new ones: both enough by themselves.
    name = next(name for name, each in sealed_runs(play.public.ledger, "exemplo").items() if not each.ends)
    assert again.work(name).complete
    record = again.finish(name)
    assert [count.cell for count in record.counts] == ["all"]
    assert check()[0] == Exit.CLEAN


def test_the_chance_is_that_of_the_exact_test() -> None:
    # R: fisher.test(matrix(c(8, 2, 1, 5), 2))$p.value is 0.03496503 (Agresti, Categorical Data Analysis, 3.5).
    assert float(chance(16, 9, 10, 8)) == pytest.approx(0.03496503, abs=1e-8)


@given(st.integers(1, 30), st.data())
def test_all_chances_are_shares_and_the_likeliest_is_one(items: int, data: st.DataObject) -> None:
    correct, drawn = data.draw(st.integers(0, items)), data.draw(st.integers(1, items))
    possible = range(max(0, drawn - (items - correct)), min(correct, drawn) + 1)
    found = [chance(items, correct, drawn, n) for n in possible]
    assert max(found) == 1
    assert all(0 < each <= Fraction(1) for each in found)


@pytest.mark.slow
def test_no_flipped_byte_passes_and_none_crashes_the_check(outside: Path, check: Check) -> None:
    luck = random.Random(7)
    places = [outside / OPENED, records(outside)[0], outside / tables_place("exemplo", "exemplo/1")]
    for number in range(90):
        place = places[number % 3]
        kept = place.read_bytes()
        changed = bytearray(kept)
        changed[luck.randrange(len(kept))] ^= 1 << luck.randrange(8)
        place.write_bytes(changed)
        code, _ = check()
        assert code in (Exit.INTEGRITY, Exit.BAD_INPUT), number
        place.write_bytes(kept)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["score"].update(repetition=2**60),
        lambda value: value.update(place=2**60, size=2**60),
        lambda value: value.update(place=-1),
        lambda value: value.update(proof=[]),
        lambda value: value["replies"].clear(),
        lambda value: value["replies"][0].update(text="\ud800"),
        lambda value: value["replies"][0].update(kind="silent"),
    ],
)
def test_a_hostile_line_is_a_finding_and_never_a_crash(
    outside: Path, check: Check, change: Callable[[dict[str, Any]], None]
) -> None:
    place = outside / OPENED
    lines = place.read_bytes().splitlines()
    value = json.loads(lines[3])
    change(value)
    lines[3] = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    place.write_bytes(b"\n".join(lines) + b"\n")
    assert check()[0] in (Exit.INTEGRITY, Exit.BAD_INPUT)


def relabelled(outside: Path, rounds: Sealing, change: Callable[[dict[str, Any]], None]) -> None:
    """One score changed and committed to again, as a dishonest keeper of the vault could have done from the start."""
    place = outside / OPENED
    lines = [json.loads(line) for line in place.read_bytes().splitlines()]
    mine = next(line for line in lines if line["replies"][0]["kind"] == "answered")
    change(mine)
    score, run_name = msgspec.convert(mine["score"], Score), mine["score"]["run"]
    nonce = bytes.fromhex(mine["nonce"])
    root = score_root([score], {order(score): nonce})
    mine |= {"place": 0, "size": 1, "proof": []}
    place.write_bytes(canonical(mine) + b"\n")

    def fixed(event: Any) -> list[Any]:
        if isinstance(event, RunResult) and event.run == run_name:
            return [msgspec.structs.replace(event, scores=root, leaves=1)]
        return [event]

    rewritten(outside, rounds, fixed)


def liar(value: dict[str, Any]) -> None:
    value["score"]["outcome"] = "failure"


def said_so(value: dict[str, Any]) -> None:
    value["score"]["by"] = "said"


def unreadable(value: dict[str, Any]) -> None:
    value["replies"][0]["text"] = "Fico entre A e B."
    value["score"] |= {"by": "said", "reply_sha256": sha256(canonical(value["replies"]))}


def no_part(value: dict[str, Any]) -> None:
    value["replies"][0]["part"] = "z"
    value["score"]["reply_sha256"] = sha256(canonical(value["replies"]))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (liar, "says failure, and the rule finds"),
        (said_so, "says that the rule cannot read the answer, and it finds"),
        (unreadable, "which is not what such answers were said to count as"),
        (no_part, "it is not over every part of its item"),
    ],
)
def test_a_class_that_the_rule_does_not_find_is_found_though_it_was_committed_to(
    outside: Path, rounds: Sealing, check: Check, change: Callable[[dict[str, Any]], None], what: str
) -> None:
    relabelled(outside, rounds, change)
    code, found = check()
    assert code == Exit.INTEGRITY
    assert any(what in each for each in findings(found)), findings(found)


def test_files_of_opened_scores_read_back(outside: Path) -> None:
    read = read_scores(outside / OPENED)
    assert scores_bytes(read) == (outside / OPENED).read_bytes()
    assert {each.score.outcome for each in read} >= {Outcome.CORRECT, Outcome.WRONG}
    assert read_scores(outside / "none.jsonl") == ()
