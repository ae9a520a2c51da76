"""`lacre run` on sealed runs as a person meets it: what it says, what it refuses, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import re
import resource
import shutil
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from tests.engine.server import Act, Hang, Say, Seen, Send, Server, always
from tests.interrupting import interrupt
from tests.rotation.making import lottery
from tests.sealed.making import Sealing, items, sealing, varied
from tests.sealing.making import private

from lacre.cli import run
from lacre.cli.round_ground import ground_of
from lacre.cli.round_tables import print_frozen
from lacre.cli.sealed_ground import _bound
from lacre.errors import Exit, IntegrityError
from lacre.registry.events import RunAbort, RunResult
from lacre.registry.items import Payload
from lacre.registry.sealed_runs import sealed_runs
from lacre.rotation.running import under_way
from lacre.sealed.ending import finish, scores_of
from lacre.sealed.protection import refuse_swap
from lacre.sealing.disk import Disk

MEANS = ("--vault", "../vault", "--identity", "../operator.txt", "--key", "../team.key")
START = ("run", "start", "exemplo", "--column", "local", "--sealed", "--allow-swap", *MEANS)


@pytest.fixture
def sealed(tmp_path: Path, column: Server, monkeypatch: pytest.MonkeyPatch) -> Sealing:
    """120 private items in a workspace; we are in it."""
    column.script = varied
    made = sealing(tmp_path, column.endpoint("openai"))
    monkeypatch.chdir(made.root)
    return made


@pytest.fixture(scope="module")
def column() -> Iterator[Server]:
    """A column that answers as the message decides."""
    with Server(varied) as server:
        yield server


def the_run(sealed: Sealing) -> str:
    return next(
        line.event.run  # type: ignore[union-attr]
        for line in sealed.play.public.ledger.lines
        if type(line.event).__name__ == "RunIntent"
    )


def test_a_run_from_start_to_check(sealed: Sealing, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(START) == Exit.CLEAN
    said = capsys.readouterr()
    assert said.out.startswith("cell\titems\tcounts\nall\t120\t")
    assert "120 private items to column 'local' in exemplo/1" in said.err
    assert "all that leaves stands in\nregistry/exemplo/private/runs/exemplo-local-" in said.err
    assert run(["run", "sealed"]) == Exit.CLEAN
    assert "\tlocal\texemplo/1\t" in (table := capsys.readouterr().out)
    assert table.endswith("120\t120\tscored\n")
    assert run(["run", "sealed", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)[0]["standing"] == "scored"
    assert run(["run", "check-scores"]) == Exit.CLEAN
    assert "not told" not in capsys.readouterr().out
    assert run(["run", "open-scores", *MEANS[:4]]) == Exit.CLEAN
    assert "nothing to open" in capsys.readouterr().err
    assert run(START) == Exit.BAD_INPUT
    assert "was scored in exemplo/1 already" in capsys.readouterr().err
    assert run(["run", "resume", the_run(sealed), "--allow-swap", *MEANS]) == Exit.BAD_INPUT
    assert "is over: it was scored" in capsys.readouterr().err


def test_a_freeze_says_which_runs_must_end_before_its_randomness_is_out(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    name = sealed.begin()
    frozen = sealed.play.freeze()
    assert under_way(sealed.play.public) == (name,)
    print_frozen(frozen, sealed.play.public.folder(1), None, under_way(sealed.play.public))
    until = f"After {frozen.source.due} it can only be given up: end it before."
    assert f"Sealed run {name} is under way. {until}\n" in capsys.readouterr().err


def test_json_is_the_public_record_and_the_state(sealed: Sealing, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*START, "--json"]) == Exit.CLEAN
    found = json.loads(capsys.readouterr().out)
    assert found["record"]["leaves"] == 120
    assert found["state"]["complete"]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--dry-run",), "--dry-run: is not for sealed runs"),
        (("--item", "p0001"), "--item: is not for sealed runs"),
        (("--kind", "choice"), "--kind: is not for sealed runs"),
        (("--out", "x"), "--out: is not for sealed runs"),
        (("--column", "outra"), "--column: is given more than once"),
    ],
)
def test_options_that_would_choose_or_show_items_are_refused(
    sealed: Sealing, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], what: str
) -> None:
    assert run([*START, *more]) == Exit.BAD_INPUT
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("run", "start", "exemplo", "--column", "local", "--sealed"), "--vault: is not given"),
        (("run", "start", "exemplo", "--column", "local", "--sealed", *MEANS[:2]), "--key: is not given"),
        (("run", "start", "exemplo", "--column", "local", *MEANS[:2]), "--vault: is for sealed runs"),
        (("run", "resume", "x", *MEANS[4:]), "--key: is for sealed runs"),
        (("run", "start", "a/b.csv", *START[3:]), "a/b.csv: is no benchmark"),
        (("run", "resume", "x", *MEANS), "is no sealed run of this workspace"),
        (("run", "abort", "x", "--reason", "y", *MEANS), "is no sealed run of this workspace"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_said(
    sealed: Sealing, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], what: str
) -> None:
    assert run(words) == Exit.BAD_INPUT
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        tuple(word for word in START if word != "--allow-swap"),
        ("run", "resume", "RUN", *MEANS),
        ("run", "abort", "RUN", "--reason", "y", *MEANS),
        ("run", "open-scores", *MEANS[:4]),
    ],
    ids=lambda words: words[1],
)
def test_while_swap_is_on_nothing_reads_private_text_unless_told_to(
    tmp_path: Path,
    column: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
) -> None:
    column.script = varied
    made = sealing(tmp_path, column.endpoint("openai"), 4)
    monkeypatch.chdir(made.root)
    name = made.begin() if "RUN" in words else ""
    words = tuple(name if word == "RUN" else word for word in words)
    (tmp_path / "swaps").write_text("Filename Type Size Used Priority\n/dev/sdb2 partition 1 0 -2\n")
    monkeypatch.setattr(refuse_swap, "__defaults__", (tmp_path / "swaps",))
    assert run(words) == Exit.BAD_INPUT
    assert "swap: is on (/dev/sdb2)" in capsys.readouterr().err
    assert run([*words, "--allow-swap"]) == Exit.CLEAN


def test_a_card_that_can_be_mended_counts_among_those_to_come(sealed: Sealing) -> None:
    """Items near the exposure cap count as opening, by all cards that may run before the round's end."""
    place = sealed.root / "registry/columns.toml"
    benchmark = sealed.root / "registry/exemplo/benchmark.toml"
    benchmark.write_text(benchmark.read_text() + "\n[rounds]\nexposure_cap = 2\n")
    sealed.run()  # once shown already: two more columns would be above the cap
    assert not _bound(ground_of(None), sealed.play.public)
    unread = place.read_text().replace('id = "local"', 'id = "outra"')
    unread = re.sub(r'read = ".*"', 'read = "2999-01-01"', unread)
    place.write_text(place.read_text() + unread)
    assert len(_bound(ground_of(None), sealed.play.public)) == 120


def test_a_stopped_column_is_said_and_resumed(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = always(Send.json(401, {"error": {"message": "no"}}))
    assert run(START) == Exit.COLUMN
    said = capsys.readouterr().err
    name = the_run(sealed)
    assert "Its card names no key: give key_env or key_file." in said
    again = (
        f"lacre run resume {name} --vault ../vault --identity ../operator.txt --key ../team.key --allow-swap"
    )
    assert f"Go on with: {again}\n" in said
    column.script = varied
    assert run(again.split()[1:]) == Exit.CLEAN  # what was said can be typed
    said = capsys.readouterr().err
    assert "The vault has 0 replies of this run, of which 64 items were shown." in said
    assert "Scored: 120 scores" in said


def test_the_name_of_a_sealed_run_is_known_where_a_folder_is_asked_for(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    name = sealed.begin()
    for words, todo in (
        (["resume"], f"Go on with `lacre run resume {name} --vault DIR --identity FILE --key FILE`"),
        (["resume", *MEANS[4:]], f"Go on with `lacre run resume {name} --vault DIR"),
        (["status"], "`lacre run sealed` says how it stands"),
        (["show"], "`lacre run sealed` says how it stands"),
        (["answers"], "`lacre run sealed` says how it stands"),
    ):
        assert run(["run", words[0], name, *words[1:]]) == Exit.BAD_INPUT
        assert f"run '{name}': is a sealed run. {todo}" in capsys.readouterr().err
    assert run(["run", "status", "another"]) == Exit.BAD_INPUT
    assert "is not the folder of a run" in capsys.readouterr().err


class Killing(Disk):
    """A disk under which the process is killed at one of its renames."""

    def __init__(self, at: int) -> None:
        self.left = at

    def rename(self, old: Path, new: Path) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        super().rename(old, new)


def test_a_run_killed_in_its_last_step_is_scored_when_it_is_resumed(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = varied
    name = sealed.begin()
    assert sealed.work(name).complete
    child = os.fork()
    if child == 0:
        try:
            with sealed.going(name) as (going, log):
                going.vault.journal.disk = Killing(at=2)  # the first rename decides
                finish(going, scores_of(going, log), log, now=sealed.now())
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert not sealed_runs(sealed.play.public.ledger, "exemplo")[name].ends
    asked = column.requests
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.CLEAN
    said = capsys.readouterr()
    assert f"Run {name} had come to its end, which was cut short: it is scored now." in said.err
    assert said.out.startswith("cell\titems\tcounts\nall\t120\t")
    assert column.requests == asked
    assert run(["run", "check-scores"]) == Exit.CLEAN


def test_what_a_stopped_column_needs_is_told_by_its_card_as_of_an_open_run(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    error = {
        "message": "Unsupported parameter: 'max_completion_tokens'",
        "param": "max_completion_tokens",
        "code": "unsupported_parameter",
    }
    column.script = always(Send.json(400, {"error": error}))
    assert run(START) == Exit.COLUMN
    mend = "give cap_name the server's own name for the output cap, such as max_tokens"
    assert mend in capsys.readouterr().err
    Path("prova.csv").write_text("id,stem,A,B,key\nq1,Quanto é 1 + 1?,1,2,B\n", encoding="utf-8")
    assert run(["run", "start", "prova.csv", "--column", "local", "--out", "r"]) == Exit.COLUMN
    assert mend in capsys.readouterr().err


def test_an_interrupt_says_what_is_lost_and_how_to_go_on(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(seen: Seen) -> Act:
        # The card allows four at a time: all of them hang by then.
        if column.requests == 8:
            interrupt()
        return varied(seen) if column.requests < 5 else Hang()

    column.requests, column.script = 0, script
    assert run(START) == Exit.INTERRUPTED
    said = capsys.readouterr().err
    assert (
        "4 questions were under way: their replies are lost, and may be billed. They are asked again.\n"
        in said
    )
    name = the_run(sealed)
    assert f"Every reply that came is kept. Go on with: lacre run resume {name} --vault" in said
    column.script = varied
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.CLEAN


def test_a_column_that_only_fails_is_not_scored(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = always(Say(text=None))
    assert run(START) == Exit.COLUMN
    assert "every reply failed, so that it was not measured" in capsys.readouterr().err
    column.script = varied
    again = ["run", "resume", the_run(sealed), "--failed", "--allow-swap", *MEANS]
    assert run(again) == Exit.CLEAN


def test_what_the_rule_cannot_read_waits_for_a_word(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = always(Say(text="Fico entre A e B."))
    assert run(START) == Exit.INCOMPLETE
    assert "the rule cannot read 120 of 120 answers" in capsys.readouterr().err
    again = ["run", "resume", the_run(sealed), "--undecided", "failure", "--allow-swap", *MEANS]
    assert run(again) == Exit.CLEAN
    said = capsys.readouterr()
    assert "at most 2 correct" in said.out
    assert "120 answers that the rule cannot read count as failure" in said.err


def test_a_budget_stops_a_run_and_more_goes_on(sealed: Sealing, capsys: pytest.CaptureFixture[str]) -> None:
    place = sealed.root / "registry/columns.toml"
    price = '\n[columns.price]\ncurrency = "USD"\ninput = "1000"\noutput = "1000"\n'
    place.write_text(place.read_text() + price + 'source = "https://example.org/p"\nread = "2026-01-01"\n')
    assert run([*START, "--budget", "5", "--brl-per-usd", "5"]) == Exit.INCOMPLETE
    assert "--budget USD" in capsys.readouterr().err
    name = the_run(sealed)
    assert run(["run", "resume", name, "--budget", "1000000", "--allow-swap", *MEANS]) == Exit.CLEAN


def test_a_budget_can_be_changed_or_lifted_when_a_run_goes_on(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    place = sealed.root / "registry/columns.toml"
    bare = place.read_text()
    price = '\n[columns.price]\ncurrency = "USD"\ninput = "1000"\noutput = "1000"\n'
    place.write_text(bare + price + 'source = "https://example.org/p"\nread = "2026-01-01"\n')
    assert run([*START, "--budget", "5"]) == Exit.INCOMPLETE
    name = the_run(sealed)
    again = ["run", "resume", name, "--allow-swap", *MEANS]
    capsys.readouterr()
    assert run([*again, "--budget", "0.01"]) == Exit.BAD_INPUT
    assert "0.01 dollars allow no request" in capsys.readouterr().err
    place.write_text(bare)
    assert run(again) == Exit.BAD_INPUT
    assert "has no price, so that no budget could be kept" in (said := capsys.readouterr().err)
    assert "`--budget none`" in said
    assert run([*again, "--budget", "none"]) == Exit.CLEAN


@pytest.mark.parametrize("count", [6, 120])
def test_no_class_of_an_answer_is_told_but_in_the_record(
    tmp_path: Path,
    column: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    count: int,
) -> None:
    made = sealing(tmp_path, column.endpoint("openai"), count)
    monkeypatch.chdir(made.root)
    column.script = lambda seen: Say(text="Fico entre A e B." if "p0001" in seen.text else "Não sei.")
    assert run([*START, "--json"]) == Exit.INCOMPLETE
    said = capsys.readouterr()
    few = (
        "No counts leave: too few items would stay private after the next rotation. Its scores are committed"
    )
    assert (few in said.err) == (count == 6)
    number = "some of the" if count == 6 else "1 of 120"
    assert f"the rule cannot read {number} answers" in said.err
    assert "wrong or failure: lacre run resume" in said.err
    state = json.loads(said.out)["state"]
    assert (state["replies"], state["complete"]) == (count, True)
    assert not {"answered", "refused", "truncated", "failed"} & state.keys()
    assert run(["run", "resume", the_run(made), "--allow-swap", *MEANS]) == Exit.INCOMPLETE
    said = capsys.readouterr()
    assert said.out == f"column\treplies\tof\tstate\nlocal\t{count}\t{count}\tall replies came\n"
    assert "All replies are there, and the run is NOT scored." in said.err


def test_a_part_of_a_fingerprint_vouches_for_nobody(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = sealed.play.key.fingerprint
    assert run(["run", "check-scores", "--key", whole]) == Exit.CLEAN
    assert run(["run", "check-scores", "--key", whole[:8]]) == Exit.BAD_INPUT
    assert (
        "is no whole fingerprint, and of a part of one another key could be made" in capsys.readouterr().err
    )
    assert run(["run", "check-scores", "--key", "0" * 64]) == Exit.INTEGRITY


def test_what_check_scores_says_ends_in_one_stop_and_names_what_the_ledger_does_not_know(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = varied
    name = sealed.begin()
    tables = sealed.root / "registry/exemplo/private/tables/0001.json"
    kept = tables.read_bytes()
    tables.write_bytes(kept + b" ")
    assert run(["run", "check-scores"]) == Exit.INTEGRITY
    assert "private/tables/0001.json is not the file that the ledger fixed." in capsys.readouterr().err
    tables.unlink()
    assert run(["run", "check-scores"]) == Exit.INTEGRITY
    assert "no such file. Check the path.\n" in capsys.readouterr().err
    tables.write_bytes(kept)
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.CLEAN
    record = sealed.root / f"registry/exemplo/private/runs/{name}.json"
    record.with_name("another.json").write_bytes(record.read_bytes())
    capsys.readouterr()
    assert run(["run", "check-scores"]) == Exit.INTEGRITY
    stray = (
        "registry/exemplo/private/runs/another.json is the record of no run that the ledger says was scored."
    )
    assert stray in capsys.readouterr().err


def test_a_run_that_is_given_up_says_so(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = always(Send.json(403, {"error": {"message": "no"}}))
    assert run(START) == Exit.COLUMN
    name = the_run(sealed)
    give_up = ["run", "abort", name, "--reason", "the vendor withdrew the model", *MEANS]
    assert run(give_up) == Exit.CLEAN
    assert f"Run {name} is given up, with 0 replies in the vault" in capsys.readouterr().err
    assert run(give_up) == Exit.BAD_INPUT
    assert "is over: it was given up" in capsys.readouterr().err
    assert run(["run", "sealed"]) == Exit.CLEAN
    assert capsys.readouterr().out.endswith("given up\n")
    assert run(START) == Exit.BAD_INPUT
    assert "which counts as its run" in capsys.readouterr().err


def test_scores_of_what_opened_are_opened_and_again_the_same(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed.run()
    sealed.close()
    assert run(["run", "open-scores", *MEANS[:4], "--json"]) == Exit.CLEAN
    place = "registry/exemplo/rounds/0001/scores-opened.jsonl"
    assert json.loads(capsys.readouterr().out) == {"benchmark": "exemplo", "files": {place: 48}}
    before = (sealed.root / place).read_bytes()
    assert run(["run", "open-scores", *MEANS[:4]]) == Exit.CLEAN
    assert f"{place}: 48 scores opened" in capsys.readouterr().out
    assert (sealed.root / place).read_bytes() == before


def test_a_closing_names_the_command_that_opens_scores_and_a_check_misses_them_until_then(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed.play.freeze()
    assert run(START) == Exit.BAD_INPUT  # by the clock of this machine its randomness is out
    name = sealed.begin()
    assert sealed.work(name).complete
    sealed.finish(name)
    Path("../draw.json").write_bytes(lottery(sealed.play.draws))
    capsys.readouterr()
    assert run(["round", "split", "--beacon-file", "../draw.json", *MEANS]) == Exit.CLEAN
    command = "lacre run open-scores --vault ../vault --identity ../operator.txt"
    assert f"open these scores, too, with `{command}`.\nCommit the registry" in capsys.readouterr().err
    assert run(["run", "check-scores"]) == Exit.INTEGRITY
    missing = "48 scores of items that opened are missing, such as that of 'p"
    assert missing in (said := capsys.readouterr().err)
    assert "whoever has the vault opens them with `lacre run open-scores`.\n" in said
    assert run([*command.split()[1:], "--allow-swap"]) == Exit.CLEAN
    assert run(["run", "check-scores"]) == Exit.CLEAN


def test_an_item_that_opened_and_is_still_in_the_vault_stops_the_opening(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed.run()
    shutil.copytree(sealed.play.vault_folder, sealed.root.parent / "old")
    sealed.close()
    assert run(["run", "open-scores", "--vault", "../old", *MEANS[2:4]]) == Exit.INTEGRITY
    assert "is opened and still in the vault" in capsys.readouterr().err


def test_a_torn_frame_is_said_and_asked_for_again(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    name = sealed.begin()
    with sealed.going(name) as (_, log):
        log.append([b"{}\n"])
    place = sealed.play.vault_folder / "logs" / f"{name}.log.age"
    os.truncate(place, 100)
    next((sealed.play.vault_folder / "marks").iterdir()).unlink()  # it is written after its frame
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.CLEAN
    assert (
        "its end was cut short by a crash; the replies in it are asked for again" in capsys.readouterr().err
    )


def cut(sealed: Sealing, name: str, how: Literal["gone", "emptied", "cut"]) -> None:
    """Take the log of a run away, or part of it."""
    place = sealed.play.vault_folder / "logs" / f"{name}.log.age"
    match how:
        case "gone":
            place.unlink()
        case "emptied":
            place.write_bytes(b"")
        case "cut":
            content, end = place.read_bytes(), 0
            for _ in range(3):  # three whole frames: nothing in what is left is torn
                end += 48 + int.from_bytes(content[end : end + 8], "big")
            place.write_bytes(content[:end])


@pytest.mark.parametrize(
    ("how", "what"),
    [("gone", "is missing, and "), ("emptied", "has 0 of at least "), ("cut", "has 3 of at least ")],
)
def test_replies_that_the_vault_lost_are_missed_and_never_asked_for_again_in_silence(
    sealed: Sealing,
    column: Server,
    capsys: pytest.CaptureFixture[str],
    how: Literal["gone", "emptied", "cut"],
    what: str,
) -> None:
    column.seen.clear()

    def script(seen: Seen) -> Act:
        # Stopped in the middle of the second block that the ledger names.
        return varied(seen) if len(column.seen) < 90 else Send.json(401, {"error": {"message": "no"}})

    column.script = script
    assert run(START) == Exit.COLUMN
    name = the_run(sealed)
    cut(sealed, name, how)
    column.script, asked = varied, len(column.seen)
    capsys.readouterr()
    assert run(["vault", "check", *MEANS[1:4]]) == Exit.INTEGRITY
    assert what in (said := capsys.readouterr().err)
    assert f"can only be given up, with `lacre run abort {name} --reason TEXT --vault DIR" in said
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.INTEGRITY
    assert what in capsys.readouterr().err
    assert len(column.seen) == asked
    assert run(["run", "abort", name, "--reason", "replies were lost", "--allow-swap", *MEANS]) == Exit.CLEAN
    lost = re.search(r"of at least (\d+) replies that came (\d+) can be read", capsys.readouterr().err)
    assert lost is not None
    assert int(lost[1]) > 60 > int(lost[2])
    event = sealed.play.public.ledger.lines[-1].event
    assert isinstance(event, RunAbort)
    assert event.replies == int(lost[1])
    assert run(["vault", "check", *MEANS[1:4]]) == Exit.CLEAN


@pytest.mark.parametrize("gone", [1, 2, 3])
def test_a_ledger_that_went_back_is_missed_by_the_vault(
    sealed: Sealing, column: Server, capsys: pytest.CaptureFixture[str], gone: int
) -> None:
    """One line less, and an exposure is missing; three, and the run never began: it could be had again."""
    column.seen.clear()
    column.script = lambda seen: varied(seen) if len(column.seen) < 90 else Send.json(401, {"error": {}})
    assert run(START) == Exit.COLUMN
    name, place = the_run(sealed), sealed.root / "registry/ledger.jsonl"
    kept = place.read_bytes()
    lines = kept.splitlines(keepends=True)
    place.write_bytes(b"".join(lines[:-gone]))
    column.script, asked = varied, len(column.seen)
    capsys.readouterr()
    what = f"ledger.jsonl: has {len(lines) - gone} of the {len(lines)} lines that it had when the vault last saw it"
    refused = [
        ["vault", "check", *MEANS[1:4]],
        list(START),
        ["run", "open-scores", "--allow-swap", *MEANS[:4]],
    ]
    if gone < 3:
        refused += [
            ["run", "resume", name, "--allow-swap", *MEANS],
            ["run", "abort", name, "--reason", "no", "--allow-swap", *MEANS],
        ]
    for words in refused:
        assert run(words) == Exit.INTEGRITY, words
        assert what in capsys.readouterr().err
    assert len(column.seen) == asked
    place.write_bytes(kept)
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.CLEAN
    scored = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(b"".join(scored[:-1]))  # without its result it could be scored otherwise
    assert run(["run", "resume", name, "--allow-swap", *MEANS]) == Exit.INTEGRITY


def test_no_command_that_writes_with_the_vault_builds_on_a_ledger_that_went_back(sealed: Sealing) -> None:
    place = sealed.root / "registry/ledger.jsonl"
    lines = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(b"".join(lines[:-1]))  # the batch is gone
    with pytest.raises(IntegrityError, match="lines that it had when the vault last saw it"):
        sealed.play.add(items(500, 2), "b2")


def test_open_items_wait_for_grading_and_giving_up_has_json(
    tmp_path: Path, column: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = varied
    essay = private("q1", payload=Payload(kind="open", stem="Explique a balsa.", key="-"))
    made = sealing(tmp_path, column.endpoint("openai"), 60, more=[essay])
    monkeypatch.chdir(made.root)
    assert run([*START, "--undecided", "wrong"]) == Exit.CLEAN
    assert "1 open items wait for grading" in capsys.readouterr().err
    other = made.root / "registry/columns.toml"
    other.write_text(
        other.read_text().replace('id = "local"\nmodel = "modelo-1"', 'id = "outra"\nmodel = "modelo-2"')
    )
    column.script = always(Send.json(403, {"error": {"message": "no"}}))
    assert run([*START[:4], "outra", *START[5:]]) == Exit.COLUMN
    name = list(sealed_runs(made.play.public.ledger, "exemplo"))[-1]
    capsys.readouterr()
    assert run(["run", "abort", name, "--reason", "no", "--json", *MEANS]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out) == {"run": name, "reason": "no", "replies": 0, "kept": 0}


def test_few_items_give_no_counts(
    tmp_path: Path, column: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = varied
    made = sealing(tmp_path, column.endpoint("openai"), 6)
    monkeypatch.chdir(made.root)
    assert run(START) == Exit.CLEAN
    assert "No counts leave: too few items would stay private" in capsys.readouterr().err
    # Nor does the ledger tell how many failed, nor anything how many the rule could not read.
    result = made.play.public.ledger.lines[-1].event
    assert isinstance(result, RunResult)
    assert (result.answered, result.failed) == (None, None)


def test_of_few_items_it_is_not_told_how_many_the_rule_cannot_read(
    tmp_path: Path, column: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    column.script = always(Say(text="Fico entre A e B."))
    made = sealing(tmp_path, column.endpoint("openai"), 6)
    monkeypatch.chdir(made.root)
    assert run([*START, "--undecided", "wrong", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["record"]["undecided_answers"] is None
    assert run(["run", "check-scores"]) == Exit.CLEAN


def test_afterwards_the_process_is_as_it_was_but_for_core_files(sealed: Sealing) -> None:
    os.environ["SSLKEYLOGFILE"] = "keys"
    before = logging.root.manager.disable
    try:
        assert run(START) == Exit.CLEAN
        assert os.environ["SSLKEYLOGFILE"] == "keys"
    finally:
        del os.environ["SSLKEYLOGFILE"]
    assert logging.root.manager.disable == before
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
    assert not (sealed.root / "keys").exists()


def test_a_freeze_that_waits_and_many_columns_make_items_count_as_opening(
    sealed: Sealing, capsys: pytest.CaptureFixture[str]
) -> None:
    sealed.play.now = datetime.now(UTC)
    sealed.play.freeze(forced={f"p{n:04d}": "leak" for n in range(0, 120, 2)})
    assert run(START) == Exit.CLEAN
    said = capsys.readouterr().out
    # All of one area must open: nothing of it would stay.
    assert "area=saude" not in said
