"""What `lacre run` and `lacre column check` say when something is wrong: figures, fitting advice, no control codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_runs import write_card
from tests.engine.server import Act, Hang, Say, Seen, Send, Server, always
from tests.interrupting import interrupt

from lacre.cli import run
from lacre.cli.output import escaped, print_json
from lacre.errors import Exit

PRICE = (
    "[columns.price]", 'currency = "USD"', 'input = "1"', 'output = "2"',
    'source = "https://example.org"', 'read = "2026-01-01"',
)  # fmt: skip
ITEMS = "id;stem;options;key\nq1;Que cor?;(A) Azul (B) Rosa;B\nq2;Que flor?;(A) Lis (B) Rosa;B\n"
START = ["run", "start", "cores.csv", "--column", "mine", "--out", "r"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def server(workspace: Path) -> Iterator[Server]:
    (workspace / "cores.csv").write_text(ITEMS, encoding="utf-8")
    with Server(always(Say(text="Letra B"))) as server:
        write_card(workspace, server, "cap = 100")
        yield server


@pytest.mark.parametrize("command", ["status", "show", "answers", "resume"])
def test_items_that_are_not_the_run_s_are_an_error_of_integrity(
    command: str, workspace: Path, server: Server, capsys: Capture
) -> None:
    assert run(START) == Exit.CLEAN
    (workspace / "cores.csv").write_text(ITEMS.replace(";B", ";A"), encoding="utf-8")
    capsys.readouterr()
    assert run(["run", command, "r"]) == Exit.INTEGRITY
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "the items are not those that it began with" in err


@pytest.mark.parametrize("command", ["status", "show", "answers", "resume"])
def test_a_line_about_another_question_is_named_and_never_makes_a_run_complete(
    command: str, workspace: Path, server: Server, capsys: Capture
) -> None:
    assert run(START) == Exit.CLEAN
    path = workspace / "r/journal.jsonl"
    path.write_text(path.read_text("utf-8").replace('"item":"q2"', '"item":"q3"'), encoding="utf-8")
    capsys.readouterr()
    assert run(["run", command, "r"]) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert "journal.jsonl:" in err
    assert "is about a question that this run does not ask" in err


def test_a_budget_below_one_request_is_refused_before_the_first(
    workspace: Path, server: Server, capsys: Capture
) -> None:
    write_card(workspace, server, "cap = 100", *PRICE)
    assert run([*START, "--budget", "0.0001"]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert "0.0001 dollars allow no request: one to column 'mine' may cost up to US$ 0.00" in said
    assert not (workspace / "r").exists()
    assert server.requests == 0


def test_a_server_that_does_not_keep_to_the_cap_is_told_with_figures(
    workspace: Path, server: Server, capsys: Capture
) -> None:
    write_card(workspace, server, "cap = 100", *PRICE)
    server.script = always(
        Say(text="Letra B", extra={"usage": {"prompt_tokens": 5, "completion_tokens": 90_000}})
    )
    assert run([*START, "--budget", "0.01"]) == Exit.CLEAN
    said = capsys.readouterr().err
    assert "2 replies are longer than the output cap of 100 tokens, the longest 90,000" in said
    assert "The budget of US$ 0.01 is exceeded: US$ 0.3600 are spent, US$ 0.3500 more" in said
    assert run(["run", "status", "r", "--json"]) == Exit.CLEAN
    [column] = json.loads(capsys.readouterr().out)["state"]["columns"]
    assert (column["cap"], column["over_cap"], column["longest"]) == (100, 2, 90_000)


def test_a_column_whose_every_reply_is_cut_short_is_told_what_helps(
    workspace: Path, server: Server, capsys: Capture
) -> None:
    server.script = always(Say(text="Vamos pensar", finish="length"))
    assert run(START) == Exit.COLUMN
    said = capsys.readouterr().err
    assert "every reply is cut short" in said
    assert "the output cap of 100 tokens" in said
    assert "start another run" in said
    assert "--failed" not in said


@pytest.mark.parametrize(
    ("lines", "named", "said"),
    [
        ((), "max_completion_tokens", "give cap_name the server's own name for the output cap, such as max_tokens"),
        (('cap_name = "max_tokens"',), "max_tokens", "such as max_completion_tokens"),
        (('effort_name = "reasoning_effort"', 'effort = "low"'), "reasoning_effort", "Correct effort or effort_name"),
        (('accepts = ["top_p"]', "settings = { top_p = 1 }"), "top_p", "take top_p out of settings"),
        ((), "segredo", "Check endpoint and dialect on its card"),
    ],
)  # fmt: skip
def test_advice_fits_the_setting_that_is_not_taken(  # noqa: PLR0917 - fixtures
    lines: tuple[str, ...], named: str, said: str, workspace: Path, server: Server, capsys: Capture
) -> None:
    write_card(workspace, server, "cap = 100", *lines)
    error = {
        "error": {
            "code": "unsupported_parameter",
            "param": named,
            "message": f"Unsupported parameter: '{named}'",
        }
    }
    server.script = always(Send.json(400, error))
    assert run(START) == Exit.COLUMN
    first = capsys.readouterr().err
    assert run(["column", "check", "mine"]) == Exit.COLUMN
    second = capsys.readouterr().err
    for err in (first, second):
        assert said in err
        assert "segredo" not in err


NASTY = "Letra B\x1b[2J\x1b]0;x\x07\u202eoxo\u2066\x9b31m\r\n"


def test_replies_on_a_terminal_steer_nothing(workspace: Path, server: Server, capsys: Capture) -> None:
    server.script = always(Say(text=NASTY, extra={"model": "m\x1b[31m"}))
    assert run(START) == Exit.CLEAN
    assert run(["run", "show", "r", "--item", "q1"]) == Exit.CLEAN
    assert run(["run", "show", "r", "--item", "q1", "--json"]) == Exit.CLEAN
    assert run(["column", "check", "mine"]) == Exit.FINDING
    out, err = capsys.readouterr()
    assert not set(out + err) & set("\x1b\x07\u202e\u2066\x9b\r")
    assert "Letra B\\x1b[2J" in out
    assert "\\u202eoxo" in out


def test_json_says_the_same_in_characters_that_steer_nothing(capsys: Capture) -> None:
    print_json({"text": NASTY + "\U000e0041\u200f ç"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"text": NASTY + "\U000e0041\u200f ç"}
    assert "ç" in out
    assert not set(out) & set("\x1b\u202e\U000e0041\u200f\x9b")


def test_tabs_lines_and_joined_signs_stay() -> None:
    text = "a\tb\nç 👩\u200d🔬"
    assert escaped(text) == text
    assert escaped("\U000e0041\ud800") == "\\U000e0041\\ud800"


def test_tokens_that_were_not_told_are_not_nought_and_money_is_exact(
    workspace: Path, server: Server, capsys: Capture
) -> None:
    write_card(workspace, server, "cap = 100", *PRICE)
    server.script = always(Say(text="Letra B", usage=False))
    assert run(START) == Exit.CLEAN
    capsys.readouterr()
    assert run(["run", "show", "r"]) == Exit.CLEAN
    assert "\tnot told\tnot told\tnot told\tnot told\tundefined: " in capsys.readouterr().out
    server.script = always(Say(text="Letra B", extra={"usage": {"prompt_tokens": 7, "completion_tokens": 3}}))
    assert run([*START[:-1], "s"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["run", "show", "s", "--json"]) == Exit.CLEAN
    [cost] = json.loads(capsys.readouterr().out)["costs"]
    assert cost["usd"]["value"] == "0.000026"
    assert cost["cached"]["type"] == "undefined"
    assert cost["held"]["value"] == "0"


def test_one_question_that_ctrl_c_gave_up_is_one(workspace: Path, server: Server, capsys: Capture) -> None:
    write_card(workspace, server, "cap = 100", "concurrency = 1")

    def script(_: Seen) -> Act:
        interrupt()
        return Hang()

    server.script = script
    assert run(START) == Exit.INTERRUPTED
    said = "1 question was under way: its reply is lost, and may be billed. It is asked again.\n"
    assert said in capsys.readouterr().err


def test_what_ctrl_c_gave_up_is_shown_and_paths_in_hints_are_quoted(
    workspace: Path, server: Server, capsys: Capture
) -> None:
    write_card(workspace, server, "cap = 100", "concurrency = 2", *PRICE)

    def script(seen: Seen) -> Act:
        # Both are under way by then, or one is done and the other hangs.
        if server.requests == 2:
            interrupt()
        return Hang()

    server.script = script
    assert run([*START[:-1], "meu caso"]) == Exit.INTERRUPTED
    assert "lacre run resume 'meu caso'" in capsys.readouterr().err
    assert run(["run", "show", "meu caso", "--json"]) == Exit.CLEAN
    [cost] = json.loads(capsys.readouterr().out)["costs"]
    assert cost["lost"] == 2
    assert float(cost["held"]["value"]) > 0
    assert run(["run", "status", "meu caso"]) == Exit.INCOMPLETE


def test_a_fact_read_on_a_day_that_has_not_come_is_refused(
    workspace: Path, server: Server, capsys: Capture
) -> None:
    write_card(workspace, server, "cap = 100", *(line.replace("2026", "2999") for line in PRICE))
    assert run(["column", "list"]) == Exit.BAD_INPUT
    assert "read = '2999-01-01' has not come yet" in capsys.readouterr().err
    path = workspace / "registry/columns.toml"
    rate = '[exchange]\nbrl_per_usd = "5"\nsource = "https://example.org"\nread = "2999-01-01"\n'
    path.write_text(rate, encoding="utf-8")
    assert run(["column", "list"]) == Exit.BAD_INPUT
    assert "exchange: read = '2999-01-01' has not come yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '["q1", "x"]\n["q2", "y"]\n'),
        ("a.jsonl", '{"question": "x"}\n{"question": "y"}\n'),
        ("a.json", '{"q1": {"stem": "x"}}'),
        ("a.csv", "foo;bar\n1;2\n3;4\n"),
    ],
)
def test_a_file_that_holds_no_items_is_told_once_with_the_shape_of_one(
    name: str, content: str, workspace: Path, server: Server, capsys: Capture
) -> None:
    (workspace / name).write_text(content, encoding="utf-8")
    assert run(["run", "start", name, "--column", "mine"]) == Exit.BAD_INPUT
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "is no file of items" in err
    assert '{"id": "q1", "stem": "..."' in err
