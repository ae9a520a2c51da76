"""`lacre probe` as a person meets it, on the example benchmark and a server that remembers some of it."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.server import Act, Say, Seen, Send, Server, always
from tests.probe.memory import Memory

from lacre import jsonl
from lacre.cli import run
from lacre.cli.probe_tables import chance
from lacre.errors import Exit
from lacre.probe.canary import MASK
from lacre.probe.cuts import text_of
from lacre.probe.options import masked
from lacre.registry.items import Item
from lacre.registry.seen import read_marks
from lacre.registry.waivers import payload_sha256
from lacre.registry.workspace import Workspace
from lacre.sealing.commitments import Row

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
UUID = "3f8a1c52-9b07-4e6d-a2f4-7c15e09d8b36"
CANARY = f"CANARY {UUID} Exemplo: benchmark data"
CARD = """\
[[columns]]
id = "mine"
model = "local"
vendor = "Ninguém"
family = "nenhuma"
dialect = "openai"
endpoint = "{endpoint}"
cap = 400
"""
PRICED = """\
[columns.price]
currency = "USD"
input = "1"
output = "2"
source = "https://example.org"
read = "2026-01-01"
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The example workspace, in which we are, and a column that answers nothing of use."""
    shutil.copytree(ROOT / "registry", tmp_path / "registry")
    monkeypatch.chdir(tmp_path)
    with Server(always(Say(text="Não conheço essa questão."))) as server:
        write_card(server)
        yield server


def write_card(server: Server, *lines: str) -> None:
    card = CARD.format(endpoint=server.endpoint("openai"))
    Path("registry/columns.toml").write_text(card + "\n".join(lines), encoding="utf-8")


def items(layer: str) -> list[Item]:
    return [item for item in Workspace(ROOT).items("exemplo") if item.layer == layer]


def remembering(layer: str = "official") -> Memory:
    """A column that holds a layer."""
    prose = [text_of(item.payload) for item in items("open")]
    return Memory(dict.fromkeys((text_of(item.payload) for item in items(layer)), "verbatim"), prose)


def printed(capsys: Capture) -> tuple[Any, str]:
    out, err = capsys.readouterr()
    return json.loads(out), err


def test_what_a_column_remembers_is_marked_listed_and_drawn(server: Server, capsys: Capture) -> None:
    server.script = remembering()
    assert run(["probe", "completion", "--column", "mine", "--out", "p"]) == Exit.FINDING
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split("\t")[:4] == ["column", "items", "seen", "at every cut"]
    assert out.splitlines()[1].split("\t")[1:4] == ["8", "6", "6"]
    assert "mine\titems\tguessable: enumeration or formula\t2" in out
    assert '"Not reproduced" is not "unseen"' in err
    assert "controls (the open layer)" in err
    # It holds the items and no famous text: that is no sign of a probe that finds nothing.
    assert "No famous text came back from mine, and items did" in err
    assert "there the probe finds nothing" not in err
    assert "Fewer than 100 controls" in err
    marks = read_marks([Path("p/marks.jsonl")])
    assert sorted(mark.verdict for mark in marks.values()) == ["not_probed"] * 2 + ["seen"] * 6
    digests = {item.id: payload_sha256(item.payload) for item in items("official")}
    assert {mark.item: mark.payload_sha256 for mark in marks.values()} == digests
    assert run(["probe", "report", "p", "--list"]) == Exit.FINDING
    assert capsys.readouterr().out.count("\nmine\tof-2") == 6
    assert run(["probe", "report", "p", "--json", "--plot", "p.svg"]) == Exit.FINDING
    found, _ = printed(capsys)
    assert found["findings"]["columns"][0]["seen"] == 6
    assert found["costs"][0]["stage"] == "probe completion"
    assert found["findings"] == json.loads(Path("p/findings.json").read_text("utf-8"))
    assert Path("p.svg").read_bytes().startswith(b"<?xml")


def test_a_column_that_remembers_nothing_is_clean(server: Server, capsys: Capture) -> None:
    assert (
        run(["probe", "completion", "exemplo", "--column", "mine", "--out", "p", "--cut", "50"]) == Exit.CLEAN
    )
    sent = server.requests
    assert run(["probe", "report", "p"]) == Exit.CLEAN
    assert server.requests == sent
    out, err = capsys.readouterr()
    assert "\t0\t0\t6\t2\t" in out
    assert "No famous text came back from mine: there the probe finds nothing, seen or not." in err


def test_a_column_that_only_fails_is_no_clean_one(server: Server, capsys: Capture) -> None:
    server.script = always(Say(text=""))
    asking = ["probe", "completion", "--column", "mine", "--cut", "50", "--out", "p"]
    assert run(asking) == Exit.COLUMN
    out, err = capsys.readouterr()
    assert "mine\titems\tfailed: empty\t6" in out
    assert "mine\tcontrols\tfailed: empty\t50" in out
    assert "mine\tfamous texts\tfailed: empty\t12" in out
    assert "column 'mine': every reply failed, so that nothing is known of it" in err
    server.script = remembering()
    assert run(["probe", "resume", "p", "--failed"]) == Exit.FINDING


def test_what_controls_and_famous_texts_lost_is_told(server: Server, capsys: Capture) -> None:
    memory = remembering()

    def script(seen: Seen) -> Act:
        if "texto publicado" in seen.text:
            return Say(text="Não posso ajudar com isso.", finish="content_filter")
        return memory(seen)

    server.script = script
    asking = ["probe", "completion", "--column", "mine", "--cut", "50", "--out", "p", "--json"]
    assert run(asking) == Exit.FINDING
    found, _ = printed(capsys)
    [row] = found["findings"]["columns"]
    assert row["famous_lost"] == {"refused": 12}
    assert row["power"] == {"type": "undefined", "reason": "no famous text could be judged", "n": 0}
    assert (row["cutoff"], row["sides"]) == (None, {"unknown": 8})


def test_controls_that_are_items_in_new_clothes_or_twice_there_are_left_out(
    server: Server, capsys: Capture
) -> None:
    official = next(item for item in items("official") if item.id == "of-2026-1")
    new = [item for item in items("open") if len(text_of(item.payload).split()) > 60][:3]
    rows = [{"id": "copy", "stem": official.payload.stem + " Diga.", "options": official.payload.options}]
    rows += [{"id": item.id, "stem": item.payload.stem, "options": item.payload.options} for item in new]
    rows += [{**rows[1], "id": "again", "stem": new[0].payload.stem.upper()}]
    Path("new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for kind in ("completion", "options"):
        asking = ["probe", kind, "--column", "mine", "--controls", "new.jsonl", "--dry-run"]
        assert run(asking) == Exit.CLEAN
        err = capsys.readouterr().err
        assert (
            "1 controls are left out: more than half of each stands in an item that may have been seen."
            in err
        )
        assert "1 controls are left out: another one has the same words." in err
    assert (
        run(["probe", "completion", "--column", "mine", "--controls", "new.jsonl", "--out", "p"])
        == Exit.CLEAN
    )
    subjects = json.loads(Path("p/probe.json").read_text("utf-8"))["subjects"]
    controls = {each["id"] for each in subjects if each["role"] == "control"}
    assert len(controls) == 3
    assert "copy" not in controls


def test_an_item_that_opened_is_private_no_more(server: Server, capsys: Capture) -> None:
    [opened, *_] = items("open")
    rows = [Row(id=opened.id, cell={}, batch="b1", commitment="0" * 64)]
    jsonl.write(Path("registry/exemplo/private/commitments.jsonl"), rows)
    asking = ["probe", "completion", "--column", "mine", "--layer", "open", "--dry-run"]
    assert run([*asking, "--item", opened.id]) == Exit.CLEAN
    capsys.readouterr()


def test_dates_that_tell_no_side_of_the_cutoff_are_counted(server: Server, capsys: Capture) -> None:
    write_card(
        server, '[columns.cutoff]\nvalue = "2025-03"\nprecision = "month"',
        'source = "https://example.org"\nread = "2026-01-01"\n',
    )  # fmt: skip
    # The exam of 2025 is known to the month, and it is the cutoff's own month.
    asking = ["probe", "completion", "--column", "mine", "--cut", "50", "--without-famous", "--out", "p"]
    assert run(asking) == Exit.CLEAN
    assert "3 items have no date, or one too imprecise to tell its side of the cutoff of mine (2025-03)" in (
        capsys.readouterr().err
    )
    [row] = json.loads(Path("p/findings.json").read_text("utf-8"))["columns"]
    assert row["sides"] == {"after": 5, "unknown": 3}
    # Of the five from after it, two are lists of figures.
    assert row["controls"]["after the cutoff"] == 3


def test_nothing_private_is_probed(server: Server, capsys: Capture) -> None:
    arguments = ["probe", "completion", "--column", "mine"]
    assert run([*arguments, "--layer", "private"]) == Exit.BAD_INPUT
    assert "private items are never probed" in capsys.readouterr().err
    rows = [Row(id="pr-01", cell={}, batch="b1", commitment="0" * 64)]
    jsonl.write(Path("registry/exemplo/private/commitments.jsonl"), rows)
    assert run([*arguments, "--item", "pr-01"]) == Exit.BAD_INPUT
    assert "'pr-01' is a private item" in capsys.readouterr().err
    known = {"id": "pr-01", "stem": "Segredo?", "options": "(A) Sim (B) Não", "key": "A"}
    Path("known.jsonl").write_text(json.dumps(known), encoding="utf-8")
    assert run([*arguments, "--controls", "known.jsonl"]) == Exit.BAD_INPUT
    assert "holds 1 private items" in capsys.readouterr().err
    jsonl.write(Path("said.jsonl"), [{**json.loads(jsonl.encode(items("open")[0])), "layer": "private"}])
    assert run([*arguments, "--controls", "said.jsonl"]) == Exit.BAD_INPUT
    assert "private items" in capsys.readouterr().err
    assert run(["probe", "options", "--column", "mine", "--layer", "private"]) == Exit.BAD_INPUT
    assert server.requests == 0


def test_controls_come_from_the_open_layer_a_file_or_nowhere(server: Server, capsys: Capture) -> None:
    server.script = remembering()
    fresh = [item for item in items("open") if len(text_of(item.payload).split()) > 60][:6]
    jsonl.write(Path("new.jsonl"), fresh)
    asking = ["probe", "completion", "--column", "mine", "--cut", "50", "--without-famous"]
    assert run([*asking, "--controls", "new.jsonl", "--out", "a", "--json"]) == Exit.FINDING
    found, err = printed(capsys)
    assert "controls (new.jsonl)" in err
    assert found["findings"]["columns"][0]["power"]["type"] == "undefined"
    assert run([*asking, "--controls", "none", "--out", "b"]) == Exit.FINDING
    out, err = capsys.readouterr()
    assert "shuffled rests" in out
    assert "No control could be judged for mine" in err
    assert run([*asking, "--most-controls", "3", "--out", "c", "--json"]) == Exit.FINDING
    found, _ = printed(capsys)
    assert sum(found["findings"]["columns"][0]["controls"].values()) == 3
    assert run([*asking, "--layer", "open", "--controls", "open"]) == Exit.BAD_INPUT
    assert "the open layer is what is probed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--item", "of-9999-1"], "not in layer official: of-9999-1"),
        (["nenhum"], "no benchmark 'nenhum'"),
        (["--item", "of-2026-2", "--controls", "none", "--without-famous"], "there is nothing to ask"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    arguments: list[str], said: str, server: Server, capsys: Capture
) -> None:
    assert run(["probe", "completion", *arguments, "--column", "mine"]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert server.requests == 0


def test_a_layer_without_items_and_a_workspace_with_several_benchmarks_say_so(
    server: Server, capsys: Capture
) -> None:
    Path("registry/exemplo/official/items.jsonl").unlink()
    assert run(["probe", "completion", "--column", "mine"]) == Exit.BAD_INPUT
    assert "has no items in layer official" in capsys.readouterr().err
    shutil.copytree("registry/exemplo", "registry/outro")
    assert run(["probe", "freshness", "--on", "2026-06-01", "--column", "mine"]) == Exit.BAD_INPUT
    assert "which benchmark? There are: exemplo, outro" in capsys.readouterr().err


def test_a_dry_run_sends_nothing_and_shows_the_request(server: Server, capsys: Capture) -> None:
    asking = ["probe", "completion", "--column", "mine", "--dry-run"]
    assert run([*asking, "--json"]) == Exit.CLEAN
    found, err = printed(capsys)
    prompt = found["requests"][0]["body"]["messages"][0]["content"]
    assert prompt.startswith(
        "O texto abaixo é o começo de uma questão de prova (Exame de Exemplo 2025, questão 1)."
    )
    assert "6 of 8 items of layer official can be probed" in err
    nothing = [*asking, "--item", "of-2026-2", "--controls", "none", "--without-famous"]
    assert run(nothing) == Exit.CLEAN
    assert "There is nothing to ask. Nothing was sent." in capsys.readouterr().err
    assert server.requests == 0
    assert not Path("probes").exists()


def test_a_column_that_goes_on_with_texts_is_sent_the_beginning_alone(
    server: Server, capsys: Capture
) -> None:
    server.script = remembering()
    completing = CARD.format(endpoint=server.endpoint("completions")).replace('"openai"', '"completions"')
    Path("registry/columns.toml").write_text(completing, encoding="utf-8")
    asking = ["probe", "completion", "--column", "mine", "--mode", "completion", "--out", "p"]
    assert run([*asking, "--dry-run", "--json"]) == Exit.CLEAN
    found, _ = printed(capsys)
    assert found["requests"][0]["url"].endswith("/v1/completions")
    [first, *_] = items("official")
    assert text_of(first.payload).startswith(found["requests"][0]["body"]["prompt"])
    assert run([*asking, "--json"]) == Exit.FINDING
    found, _ = printed(capsys)
    assert (found["findings"]["mode"], found["findings"]["columns"][0]["seen"]) == ("completion", 6)
    assert {seen.path for seen in server.seen} == {"/v1/completions"}
    assert run(["probe", "report", "p"]) == Exit.FINDING
    # A card in another dialect is another question: what was begun in one is not gone on with in the other.
    write_card(server)
    assert run(["probe", "resume", "p"]) == Exit.BAD_INPUT


@pytest.mark.parametrize(
    ("arguments", "dialect", "said"),
    [
        (["completion", "--mode", "completion"], "openai", "the openai dialect has no other mode"),
        (["completion"], "completions", "answers no question"),
        (["options"], "completions", "Probe it with `lacre probe completion --mode completion`"),
        (["canary", "--text", CANARY], "completions", "answers no question"),
    ],
)
def test_a_column_that_cannot_be_asked_in_this_way_is_refused(
    arguments: list[str], dialect: str, said: str, server: Server, capsys: Capture
) -> None:
    card = CARD.format(endpoint=server.endpoint(dialect)).replace('"openai"', f'"{dialect}"')
    Path("registry/columns.toml").write_text(card, encoding="utf-8")
    assert run(["probe", *arguments, "--column", "mine", "--out", "p"]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert run(["run", "start", "exemplo", "--column", "mine", "--out", "r", "--dry-run"]) == (
        Exit.BAD_INPUT if dialect == "completions" else Exit.CLEAN
    )
    assert server.requests == 0
    assert not Path("p").exists()


def test_a_probe_is_no_run_and_says_so(server: Server, capsys: Capture) -> None:
    asking = ["probe", "completion", "--column", "mine", "--cut", "50", "--item", "of-2025-1", "--out", "p"]
    assert run([*asking, "--controls", "none", "--without-famous"]) == Exit.CLEAN
    for command in ("status", "resume", "answers"):
        capsys.readouterr()
        assert run(["run", command, "p"]) == Exit.BAD_INPUT
        assert "p: is a probe, not a run. Use `lacre probe resume p`" in capsys.readouterr().err
    assert run(["run", "show", "p"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(asking) == Exit.BAD_INPUT
    assert "p: holds a probe already. Go on with `lacre probe resume p`" in capsys.readouterr().err


def test_a_probe_whose_texts_were_edited_is_not_reported(server: Server, capsys: Capture) -> None:
    asking = ["probe", "completion", "--column", "mine", "--cut", "50", "--item", "of-2025-1", "--out", "p"]
    assert run([*asking, "--controls", "none", "--without-famous"]) == Exit.CLEAN
    made = json.loads(Path("p/probe.json").read_text("utf-8"))
    made["subjects"][0]["text"] = "Outro começo. " + made["subjects"][0]["text"]
    Path("p/probe.json").write_text(json.dumps(made), encoding="utf-8")
    capsys.readouterr()
    assert run(["probe", "report", "p"]) == Exit.INTEGRITY
    assert "the items are not those that it began with" in capsys.readouterr().err


def test_it_is_said_where_no_item_can_be_probed(server: Server, capsys: Capture) -> None:
    asking = ["probe", "completion", "--column", "mine", "--item", "of-2026-2"]
    assert run([*asking, "--dry-run"]) == Exit.CLEAN
    assert "No item can be probed: controls and famous texts alone" in capsys.readouterr().err
    assert run([*asking, "--without-famous"]) == Exit.BAD_INPUT
    assert "there is nothing to ask" in capsys.readouterr().err
    bare = [item.id for item in items("official") if isinstance(masked(item, "item"), str)]
    assert run(["probe", "options", "--column", "mine", "--item", bare[0]]) == Exit.BAD_INPUT
    assert server.requests == 0


def test_a_stopped_probe_marks_nothing_and_is_resumed_without_asking_twice(
    server: Server, capsys: Capture
) -> None:
    memory = remembering()
    left = 20

    def failing(seen: Seen) -> Act:
        nonlocal left
        left -= 1
        return memory(seen) if left > 0 else Send(status=401)

    server.script = failing
    assert run(["probe", "completion", "--column", "mine", "--out", "p"]) == Exit.COLUMN
    err = capsys.readouterr().err
    assert "Its card names no key: give key_env or key_file." in err
    assert "nothing is marked yet" in err
    assert not Path("p/marks.jsonl").exists()
    assert run(["probe", "report", "p"]) == Exit.INCOMPLETE
    assert "lacre probe resume p" in capsys.readouterr().err
    done = len(Path("p/journal.jsonl").read_text("utf-8").splitlines())
    with Path("p/journal.jsonl").open("ab") as file:
        file.write(b'{"type":"reply","cut')
    server.script = memory
    before = server.requests
    assert run(["probe", "resume", "p", "--json"]) == Exit.FINDING
    found, err = printed(capsys)
    assert "cut short by a crash" in err
    assert found["findings"]["columns"][0]["seen"] == 6
    record = json.loads(Path("p/run.json").read_text("utf-8"))
    assert server.requests - before == record["items"] - (done - 1)


def test_a_full_disk_names_the_file_and_the_command_that_goes_on(server: Server, capsys: Capture) -> None:
    left = 20

    def failing(_: Seen) -> Act:
        nonlocal left
        left -= 1
        return Say(text="Não conheço.") if left > 0 else Send(status=401)

    server.script = failing
    assert run(["probe", "completion", "--column", "mine", "--out", "a probe"]) == Exit.COLUMN
    capsys.readouterr()
    server.script = always(Say(text="Não conheço."))
    # A limit of the kernel on the size of files, as a full disk would be.
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = Path("a probe/journal.jsonl")
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size + 1000, before[1]))
    try:
        assert run(["probe", "resume", "a probe"]) == Exit.INCOMPLETE
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    err = capsys.readouterr().err
    assert f"{journal}: a reply could not be written" in err
    assert "then go on with: lacre probe resume 'a probe'" in err
    assert journal.read_bytes().endswith(b"\n")
    assert run(["probe", "resume", "a probe"]) == Exit.CLEAN


def test_a_probe_that_is_stopped_over_a_setting_says_which(server: Server, capsys: Capture) -> None:
    write_card(server, 'accepts = ["top_p"]', "settings = { top_p = 1 }")
    error = {"code": "unsupported_parameter", "param": "top_p", "message": "Unsupported parameter: 'top_p'"}
    server.script = always(Send.json(400, {"error": error}))
    assert run(["probe", "completion", "--column", "mine", "--out", "p"]) == Exit.COLUMN
    assert "take top_p out of settings" in capsys.readouterr().err


def test_a_budget_stops_it_before_it_is_exceeded(server: Server, capsys: Capture) -> None:
    write_card(server, PRICED)
    asking = ["probe", "completion", "--column", "mine", "--out", "p", "--brl-per-usd", "5", "--json"]
    assert run([*asking, "--budget", "0.005"]) == Exit.INCOMPLETE
    state, err = printed(capsys)
    assert state["state"]["budget_reached"]
    assert "--budget USD" in err
    assert run(["probe", "resume", "p", "--budget", "10", "--json"]) == Exit.CLEAN
    found, _ = printed(capsys)
    cost = found["costs"][0]
    assert float(cost["usd"]["value"]) > 0
    assert float(cost["brl"]["value"]) == pytest.approx(5 * float(cost["usd"]["value"]), abs=0.001)


def test_masked_options_and_the_canary_have_their_own_reports(server: Server, capsys: Capture) -> None:
    def script(seen: Seen) -> Act:
        if "CANARY" in seen.text:
            lines = [line for line in seen.text.splitlines() if UUID in line]
            return Say(text=UUID if MASK in seen.text else lines[0].partition(".")[0])
        for item in items("official"):
            if item.payload.stem in seen.text:
                hidden = [text for text in item.payload.options.values() if text not in seen.text]
                return Say(text=hidden[0])
        return Say(text="Outra coisa bem diferente, sem nada em comum.")

    server.script = script
    assert run(["probe", "options", "--column", "mine", "--out", "o"]) == Exit.FINDING
    out, err = capsys.readouterr()
    assert "mine\t2\t100.0%" in out
    assert "4 items were left out: no wrong option that could not be guessed" in err
    assert run(["probe", "report", "o", "--list"]) == Exit.FINDING
    assert capsys.readouterr().out.count("\nmine\tof-") == 2
    assert run(["probe", "report", "o", "--plot", "o.svg"]) == Exit.BAD_INPUT
    assert "is for completion probes" in capsys.readouterr().err
    assert run(["probe", "canary", "--column", "mine", "--text", CANARY, "--out", "c"]) == Exit.FINDING
    out, err = capsys.readouterr()
    assert "32 of 32\t1 of 1,000" in out
    assert "Evidence, not proof" in err
    server.script = always(Say(text="Não sei."))
    assert run(["probe", "canary", "--column", "mine", "--text", CANARY, "--json"]) == Exit.CLEAN
    found, _ = printed(capsys)
    assert found["findings"]["columns"][0]["digits"] == 0


def test_the_workspace_s_own_canary_is_probed_where_none_is_given(server: Server, capsys: Capture) -> None:
    assert run(["probe", "canary", "--column", "mine", "--dry-run"]) == Exit.BAD_INPUT
    assert "there is no canary" in capsys.readouterr().err
    assert run(["canary", "new", "--name", "Exemplo"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["probe", "canary", "--column", "mine", "--dry-run", "--json"]) == Exit.CLEAN
    found, _ = printed(capsys)
    assert "benchmark data" in found["requests"][0]["body"]["messages"][0]["content"]


def test_freshness_is_told_for_a_day_or_for_the_days_of_a_run(server: Server, capsys: Capture) -> None:
    write_card(
        server, '[columns.cutoff]\nvalue = "2025-06"\nprecision = "month"',
        'source = "https://example.org"\nread = "2026-01-01"\n',
    )  # fmt: skip
    assert run(["probe", "freshness", "--column", "mine", "--on", "2026-05-20"]) == Exit.CLEAN
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(row[1], row[2], row[6], row[7]) for row in rows] == [
        ("2026", "5", "30", "exam after it"),
        ("2025", "3", "385 to 414", "exam before it"),
    ]
    assert (
        run(["run", "start", "exemplo", "--column", "mine", "--layer", "official", "--out", "r"])
        == Exit.CLEAN
    )
    capsys.readouterr()
    assert run(["probe", "freshness", "--run", "r", "--json"]) == Exit.CLEAN
    found, _ = printed(capsys)
    assert {row["days"]["type"] for row in found["rows"]} == {"days"}
    row = next(row for row in found["rows"] if row["edition"] == "2025")
    assert (row["key_precision"], row["exam_precision"], row["cutoff"]) == ("month", "month", "2025-06")
    write_card(server)
    assert run(["probe", "freshness", "--column", "mine", "--on", "2026-05-20"]) == Exit.CLEAN
    assert "none declared" in capsys.readouterr().out
    write_card(
        server, '[columns.cutoff]\nvalue = "2026"\nprecision = "year"',
        'source = "https://example.org"\nread = "2026-01-01"\n',
    )  # fmt: skip
    assert run(["probe", "freshness", "--column", "mine", "--on", "2026-05-20"]) == Exit.CLEAN
    assert "the dates do not tell" in capsys.readouterr().out
    assert run(["probe", "freshness", "--column", "mine", "--on", "2026-04-01"]) == Exit.CLEAN
    assert "may have come out after the run, for: exame-de-exemplo-2026" in capsys.readouterr().err


def test_freshness_names_a_column_of_a_run_that_has_not_replied(server: Server, capsys: Capture) -> None:
    write_card(
        server,
        CARD.format(endpoint=server.endpoint("openai")).replace("mine", "shut").replace("local", "shut"),
    )
    server.script = lambda seen: Send(status=401) if seen.body["model"] == "shut" else Say(text="A")
    asking = ["run", "start", "exemplo", "--item", "of-2026-1", "--out", "r"]
    assert run([*asking, "--column", "mine", "--column", "shut"]) == Exit.COLUMN
    capsys.readouterr()
    assert run(["probe", "freshness", "--run", "r"]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert {line.split("\t")[5] for line in out.splitlines()[1:]} == {"mine"}
    assert "No reply of shut is in these runs: nothing is said of it." in err
    assert run([*asking[:-1], "s", "--column", "shut"]) == Exit.COLUMN
    assert run(["probe", "freshness", "--run", "s"]) == Exit.BAD_INPUT
    assert "no column has replied there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "takes --run, or --on with --column"),
        (["--on", "2026-05-20", "--run", "r"], "takes --run, or --on with --column"),
        (["--on", "2026-05", "--column", "mine"], "'2026-05' is no day"),
        (["--on", "2026-05-20"], "for which columns?"),
        (["--run", "nowhere"], "is not the folder of a run"),
    ],
)
def test_freshness_says_what_it_lacks(
    arguments: list[str], said: str, server: Server, capsys: Capture
) -> None:
    assert run(["probe", "freshness", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err


def test_an_interrupt_keeps_every_reply(server: Server) -> None:
    server.latency = 0.4
    command = [sys.executable, "-m", "lacre", "probe", "completion", "--column", "mine", "--out", "p"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as child:
        journal = Path("p/journal.jsonl")
        while not (journal.exists() and journal.stat().st_size) and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == Exit.INTERRUPTED
    assert "Go on with: lacre probe resume p" in err
    server.latency = 0.0
    assert run(["probe", "resume", "p"]) == Exit.CLEAN


def test_a_chance_is_shown_short() -> None:
    assert [chance(p) for p in (None, 0.0001, 0.5)] == ["", "<0.001", "0.500"]
