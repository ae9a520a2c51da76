"""`lacre run` and `lacre column` as a person meets them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.server import Act, Say, Seen, Send, Server, always

from lacre.cli import run
from lacre.errors import Exit

CARD = """\
[[columns]]
id = "{id}"
model = "local"
vendor = "Ninguém"
family = "nenhuma"
dialect = "openai"
endpoint = "{endpoint}"
"""


@pytest.fixture
def server(workspace: Path) -> Iterator[Server]:
    """A server of this test's own, and the column `mine` that asks it."""
    with Server(always(Say(text="Letra B"))) as server:
        write_card(workspace, server, "cap = 100")
        yield server


def write_card(workspace: Path, server: Server, *lines: str) -> None:
    text = CARD.format(id="mine", endpoint=server.endpoint("openai")) + "\n".join(lines) + "\n"
    (workspace / "registry/columns.toml").write_text(text, encoding="utf-8")


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    out, err = capsys.readouterr()
    return json.loads(out), err


def test_all_five_classes_come_out_of_a_run(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    acts = {
        "azul": Say(text="Letra B\nConfiança: 90"),
        "verde": Say(text="Letra A\nConfiança: 20"),
        "preta": Say(text="Não sei."),
        "branca": Say(text=None, finish="content_filter"),
        "rosa": Say(text=None),
    }

    def script(seen: Seen) -> Act:
        return next(act for word, act in acts.items() if word in seen.text)

    server.script = script
    rows = [f"q{n};A cor do lenço: {word}?;(A) Sim (B) Não;B" for n, word in enumerate(acts)]
    (workspace / "cores.csv").write_text("id;stem;options;key\n" + "\n".join(rows), encoding="utf-8")
    assert run(["run", "start", "cores.csv", "--column", "mine", "--out", "r", "--json"]) == Exit.CLEAN
    result, _ = printed(capsys)
    assert isinstance(result, dict)
    assert result["written"]["answers"] == ["r/answers-choice.jsonl"]
    lines = [json.loads(line) for line in Path("r/answers-choice.jsonl").read_text("utf-8").splitlines()]
    assert [line["outcome"] for line in lines] == ["correct", "wrong", "abstention", "refusal", "failure"]
    assert [line.get("confidence") for line in lines] == [0.9, 0.2, None, None, None]


def test_what_the_rule_cannot_read_waits_for_the_judges(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = always(Say(text="Pode ser a A, ou pode ser a B."))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.CLEAN
    assert not Path("r/answers-choice.jsonl").exists()
    assert run(["run", "answers", "r"]) == Exit.FINDING
    assert "2 wait for the judges (100.0%)" in capsys.readouterr().out
    assert run(["run", "answers", "r", "--undecided", "wrong"]) == Exit.CLEAN
    assert "2 count as you said" in capsys.readouterr().out
    assert Path("r/answers-choice.jsonl").read_text("utf-8").count('"wrong"') == 2
    assert run(["run", "answers", "r"]) == Exit.FINDING
    assert not Path("r/answers-choice.jsonl").exists()


def test_what_answers_writes_is_said_also_where_answers_are(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.CLEAN
    assert "r/answers-choice.jsonl: 2 answers written.\n" in capsys.readouterr().err
    assert run(["run", "answers", "r", "--undecided", "wrong"]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert "r/answers-choice.jsonl: 2 answers written, in the place of those of an earlier call." in out
    assert "No answer was undecided: --undecided changed nothing." in err


def test_answers_that_are_taken_away_are_named(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = always(Say(text="Pode ser a A, ou pode ser a B."))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.CLEAN
    assert run(["run", "answers", "r", "--undecided", "failure"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["run", "answers", "r"]) == Exit.FINDING
    assert "r/answers-choice.jsonl: taken away" in capsys.readouterr().out


def test_a_column_that_gave_nothing_but_failures_is_said_and_ends_4(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = always(Say(text=None))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.COLUMN
    err = capsys.readouterr().err
    [line] = [line for line in err.splitlines() if line.startswith("lacre:")]
    assert "column 'mine': every reply failed" in line
    assert "lacre run resume r --failed" in line
    assert run(["run", "resume", "r", "--json"]) == Exit.COLUMN
    result, _ = printed(capsys)
    assert isinstance(result, dict)
    assert result["written"]["wholly_failed"] == ["mine"]
    assert run(["run", "answers", "r"]) == Exit.CLEAN
    assert "every reply failed" in capsys.readouterr().err
    server.script = always(Say(text="Letra B"))
    assert run(["run", "resume", "r", "--failed"]) == Exit.CLEAN
    assert "every reply failed" not in capsys.readouterr().err


def test_a_cap_that_leaves_no_answer_at_all_ends_4_and_one_that_leaves_answers_does_not(
    workspace: Path, server: Server
) -> None:
    server.script = always(Say(text=None, finish="length"))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "empty"]) == Exit.COLUMN
    server.script = always(Say(text="Resposta: B. Porque", finish="length"))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "cut"]) == Exit.CLEAN


def test_ends_for_unknown_reasons_are_counted_by_their_word(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = always(Say(text="Letra B", finish="whim"))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.CLEAN
    said = "column 'mine': some answers ended for reasons that are not known: whim 2."
    assert said in capsys.readouterr().err
    assert run(["run", "status", "r"]) == Exit.CLEAN
    assert said in capsys.readouterr().err


def test_bad_cards_leave_runs_of_good_ones_alone_and_are_named(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace / "registry/columns.toml"
    bad = CARD.format(id="bad", endpoint="http://example.org")
    path.write_text(path.read_text("utf-8") + bad, encoding="utf-8")
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.CLEAN
    assert (
        "columns.toml:9: column 'bad': endpoint is not encrypted. Write https://" in capsys.readouterr().err
    )
    assert run(["column", "check", "mine"]) == Exit.CLEAN
    assert run(["column", "check", "mine", "bad"]) == Exit.BAD_INPUT
    assert run(["run", "start", "items.csv", "--column", "bad", "--out", "s"]) == Exit.BAD_INPUT
    assert "column 'bad': endpoint is not encrypted" in capsys.readouterr().err
    assert run(["column", "list"]) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert "mine\tlocal" in out
    assert "column 'bad': has no source" in err
    assert run(["column", "list", "--json"]) == Exit.BAD_INPUT
    result, _ = printed(capsys)
    assert isinstance(result, dict)
    assert [fault["id"] for fault in result["bad"]] == ["bad", "bad"]
    # A card that went bad in mid-run is not passed over for what it was.
    path.write_text(path.read_text("utf-8").replace("cap = 100", "cap = 0"), encoding="utf-8")
    assert run(["run", "resume", "r"]) == Exit.BAD_INPUT
    assert "column 'mine': cap is below 1" in capsys.readouterr().err


def test_a_budget_of_nothing_is_refused_before_the_first_call(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    price = ["[columns.price]", 'currency = "USD"', 'source = "https://example.org"', 'read = "2026-01-01"']
    write_card(workspace, server, "cap = 100", *price, 'input = "1"', 'output = "2"')
    command = ["run", "start", "items.csv", "--column", "mine", "--out", "r", "--budget", "0"]
    assert run(command) == Exit.BAD_INPUT
    assert "--budget: 0 dollars allow no request" in capsys.readouterr().err
    assert server.requests == 0
    assert not Path("r").exists()
    # A column that costs nothing may be asked for nothing.
    write_card(workspace, server, "cap = 100", *price, 'input = "0"', 'output = "0.00"')
    assert run(command) == Exit.CLEAN


def test_a_run_that_is_not_complete_is_never_scored(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script = always(Send(status=401))
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.COLUMN
    assert "Its card names no key: give key_env or key_file." in capsys.readouterr().err
    assert run(["run", "status", "r"]) == Exit.INCOMPLETE
    assert run(["run", "answers", "r"]) == Exit.INCOMPLETE
    assert "nothing to score" in capsys.readouterr().err
    assert not list(Path("r").glob("answers-*"))


def test_a_wrong_parameter_is_named_and_a_corrected_card_goes_on(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(seen: Seen) -> Act:
        if "temperature" not in seen.body:
            return Say(text="Letra A")
        error = {"code": "unsupported_value", "param": "temperature", "message": "no"}
        return Send.json(400, {"error": error})

    server.script = script
    write_card(workspace, server, "cap = 100", 'accepts = ["temperature"]', "settings = { temperature = 0 }")
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.COLUMN
    assert "'temperature'" in capsys.readouterr().err
    write_card(workspace, server, "cap = 100")
    assert run(["run", "resume", "r"]) == Exit.CLEAN
    record = json.loads(Path("r/run.json").read_text("utf-8"))
    assert "settings" not in record["columns"][0]


def test_answers_under_two_settings_are_refused(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    count = 0

    def script(_: Seen) -> Act:
        nonlocal count
        count += 1
        return Say(text="Letra A") if count == 1 else Send(status=403)

    server.script = script
    write_card(workspace, server, "cap = 100", "concurrency = 1")
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.COLUMN
    server.script = always(Say(text="Letra A"))
    write_card(workspace, server, "cap = 900")
    assert run(["run", "resume", "r"]) == Exit.BAD_INPUT
    assert "(cap)" in capsys.readouterr().err
    write_card(workspace, server, "cap = 100", "concurrency = 7", "timeout = 3")
    assert run(["run", "resume", "r"]) == Exit.CLEAN


def test_other_items_are_refused_on_resume(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "start", "items.csv", "--column", "mine", "--out", "r"]) == Exit.CLEAN
    path = workspace / "items.csv"
    path.write_text(path.read_text("utf-8").replace("espelho", "armário"), encoding="utf-8")
    assert run(["run", "resume", "r"]) == Exit.INTEGRITY
    assert "not those that it began with" in capsys.readouterr().err


def test_a_dry_run_prints_the_exact_request_and_sends_nothing(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    write_card(workspace, server, "cap = 100", 'key_env = "NOT_SET_ANYWHERE"')
    command = ["run", "start", "exemplo", "--column", "mine", "--item", "ex-01", "--dry-run", "--json"]
    assert run(command) == Exit.CLEAN
    result, _ = printed(capsys)
    assert isinstance(result, dict)
    [request] = result["requests"]
    assert request["headers"]["authorization"] == "Bearer $NOT_SET_ANYWHERE"
    assert server.requests == 0
    assert not Path("runs").exists()
    write_card(workspace, server, "cap = 100")
    assert run([*command[:-2], "--out", "r"]) == Exit.CLEAN
    assert server.seen[0].body == request["body"]
    assert request["url"].endswith(server.seen[0].path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["start", "exemplo", "--column", "none"], "There are: mine"),
        (["start", "nothing", "--column", "mine"], "no benchmark 'nothing'"),
        (["start", "exemplo", "--column", "mine", "--item", "q99"], "no such item: q99"),
        (["start", "exemplo", "--column", "mine", "--layer", "official"], "no items to ask"),
        (["start", "exemplo", "--column", "mine", "--budget", "much"], "'much' is not an amount"),
        (["start", "exemplo", "--column", "mine", "--budget", "1"], "has no price"),
        (["start", "exemplo", "--column", "mine", "--brl-per-usd", "0"], "'0' is not a rate"),
        (["start", "exemplo", "--column", "mine", "--out", "corpus"], "is not empty"),
        (["resume", "corpus"], "is not the folder of a run"),
        (["status", "nowhere"], "is not the folder of a run"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_sent(
    arguments: list[str], said: str, workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert server.requests == 0


def test_costs_and_replies_are_shown(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    write_card(
        workspace, server, "cap = 100", "[columns.price]", 'currency = "USD"', 'input = "1000"', 'output = "2000"',
        'source = "https://example.org"', 'read = "2026-01-01"',
    )  # fmt: skip
    command = ["run", "start", "items.csv", "--column", "mine", "--out", "r", "--brl-per-usd", "5"]
    assert run([*command, "--budget", "50"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["run", "show", "r", "--json"]) == Exit.CLEAN
    result, _ = printed(capsys)
    assert isinstance(result, dict)
    [cost] = result["costs"]
    assert float(cost["brl"]["value"]) == pytest.approx(5 * float(cost["usd"]["value"]))
    assert float(cost["usd"]["value"]) == pytest.approx((cost["input"] * 1000 + cost["output"] * 2000) / 1e6)
    assert run(["run", "show", "r"]) == Exit.CLEAN
    assert "template choice (sha256 " in capsys.readouterr().out
    assert run(["run", "show", "r", "--item", "q1"]) == Exit.CLEAN
    assert "--- mine, run 1: answered\nLetra B\n" in capsys.readouterr().out
    assert run(["run", "show", "r", "--item", "q9"]) == Exit.BAD_INPUT
    assert run(["run", "show", "r", "--item", "q1", "--json"]) == Exit.CLEAN


def test_a_budget_that_ends_says_how_to_go_on(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    write_card(
        workspace, server, "cap = 100", "[columns.price]", 'currency = "USD"', 'input = "1"', 'output = "2"',
        'source = "https://example.org"', 'read = "2026-01-01"',
    )  # fmt: skip
    command = ["run", "start", "items.csv", "--column", "mine", "--out", "r", "--budget", "0.003"]
    server.script = always(
        Say(text="Letra B", extra={"usage": {"prompt_tokens": 500, "completion_tokens": 3}})
    )
    assert run(command) == Exit.INCOMPLETE
    said = capsys.readouterr().err
    assert "Of the budget of US$ 0.003, US$ 0.0005 are spent" in said
    assert "lacre run resume r --budget USD" in said
    assert run(["run", "resume", "r", "--budget", "1"]) == Exit.CLEAN


def test_a_column_is_checked_and_what_differs_is_said(
    workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["column", "check", "mine"]) == Exit.CLEAN
    server.script = always(Say(text="pronto", usage=False, extra={"model": "another"}))
    assert run(["column", "check", "mine", "--json"]) == Exit.FINDING
    said = capsys.readouterr().out
    assert "names the model another" in said
    assert "tells no tokens" in said
    server.script = always(Say(text=None, finish="content_filter"))
    assert run(["column", "check", "mine"]) == Exit.FINDING
    assert "refused a harmless question" in capsys.readouterr().out
    server.script = always(Say(text="pron", finish="length"))
    assert run(["column", "check", "mine"]) == Exit.FINDING
    assert "cut a one-word answer" in capsys.readouterr().out
    server.script = always(Send(status=401))
    assert run(["column", "check", "mine"]) == Exit.COLUMN
    assert "column 'mine': the key was refused (status 401)" in capsys.readouterr().err


def test_columns_are_listed(workspace: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["column", "list"]) == Exit.CLEAN
    assert "mine\tlocal\tNinguém\tnenhuma\topenai\tmeasured\tnot known\tnot known" in capsys.readouterr().out
    assert run(["column", "list", "--json"]) == Exit.CLEAN
    (workspace / "registry/columns.toml").unlink()
    assert run(["column", "list"]) == Exit.CLEAN
    assert "No columns" in capsys.readouterr().err
