"""`lacre round` as a person meets it: what it prints, with which exit code, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.cli.round_stage import HERE, staged
from tests.rotation.making import files, lottery
from tests.sealing.making import private

from lacre import jsonl
from lacre.cli import run
from lacre.digest import sha256
from lacre.errors import Exit
from lacre.sealing.ages import new_identity, write_identity

OPEN = ["--vault", "../vault", "--identity", "../operator.txt", "--key", "../team.key"]
FREEZE = ["round", "freeze", "--randomness", "drand:quicknet", "--due", "2099-01-16T19:00-03:00", *OPEN]
WAIVE = ["round", "waive", "--reason", "frase feita", *OPEN]
SPLIT = ["round", "split", "--beacon-file", "../draw-5900.json", *OPEN]
ROTATE = ["round", "rotate", "--beacon-file", "../draw-5900.json", *OPEN]


def result(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """What a command prints with --json."""
    assert run([*arguments, "--json"]) in (Exit.CLEAN, Exit.FINDING, Exit.INTEGRITY)
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_status_before_and_after_the_first_closing(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["round", "status"]) == Exit.CLEAN
    assert "exemplo/1: nothing is sealed yet." in capsys.readouterr().err
    staged(workspace, 1)
    assert run(["round", "status"]) == Exit.FINDING
    said = capsys.readouterr().err
    assert "The round ended on 2020-07-02" in said
    assert "overdue" in said
    found = result(["round", "status"], capsys)
    assert (found["round"], found["state"], found["ends"]) == ("exemplo/2", "open", "2020-07-02T12:00:00Z")


def test_status_says_that_a_draw_waits(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged(workspace, frozen=True)
    assert run(["round", "status"]) == Exit.FINDING
    assert "draw 5900 of the Loteria Federal came out at 2020-01-02T12:00:00Z" in capsys.readouterr().err


def test_a_plan_is_exact_once_the_randomness_is_there(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace, frozen=True)
    assert run(["round", "plan"]) == Exit.CLEAN
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    assert rows[0] == ["cell", "private", "opens", "stays", "write"]
    assert rows[1] == ["area=direito/difficulty=dificil", "3", "1-2", "1-2", "0"]
    assert "Where two numbers stand, the draw decides." in printed.err
    exact = result(["round", "plan", "--beacon-file", "../draw-5900.json"], capsys)
    record = result(SPLIT, capsys)
    cells = {c["cell"]: c["opens"] for c in record["cells"]}  # type: ignore[attr-defined]
    assert exact["exact"] is True
    assert {c["cell"]: c["opens"] for c in exact["cells"]} == {  # type: ignore[attr-defined]
        cell: {"least": number, "most": number} for cell, number in cells.items()
    }


def test_a_plan_with_randomness_and_no_freeze_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace)
    assert run(["round", "plan", "--beacon-file", "../draw-5900.json"]) == Exit.BAD_INPUT
    assert "no draw is frozen" in capsys.readouterr().err


def test_a_whole_round_from_freeze_to_audit(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = staged(workspace)
    assert run([*FREEZE, "--force", "pr-00=leak"]) == Exit.BAD_INPUT
    assert "commitments.jsonl:8: item 'pr-07': review against corpus-a" in capsys.readouterr().err
    assert run([*WAIVE, "pr-07", "--who", "banca"]) == Exit.CLEAN
    assert "1 item waived by banca" in capsys.readouterr().err
    assert run([*FREEZE, "--force", "pr-00=leak"]) == Exit.CLEAN
    printed = capsys.readouterr()
    assert "exemplo/1\t8\t2/5\tdrand quicknet round" in printed.out
    assert "1 item stands by a waiver: pr-07" in printed.err
    assert "registry/exemplo/rounds/0001/freeze.dsse.json now; have it stamped" in printed.err
    assert "\nfreeze exemplo/1 drand quicknet round" in printed.err
    assert run(SPLIT) == Exit.INCOMPLETE
    assert "is not out before 2099-01-16T22:00:0" in capsys.readouterr().err
    assert run(["round", "audit", "--key", play.key.fingerprint]) == Exit.CLEAN
    assert "exemplo/1\tfrozen\t8\t0\t1\t1\t0" in capsys.readouterr().out


def test_split_and_rotate_and_the_same_again(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged(workspace, frozen=True)
    assert run(ROTATE) == Exit.BAD_INPUT
    assert (
        "closing exemplo/1: is the first, which splits. Run `lacre round split`." in capsys.readouterr().err
    )
    assert run(SPLIT) == Exit.CLEAN
    printed = capsys.readouterr()
    assert "exemplo/1: 3 items opened, 5 stay private." in printed.err or "4 items opened" in printed.err
    before = files(workspace.parent)
    assert run(SPLIT) == Exit.CLEAN
    assert capsys.readouterr() == printed
    assert files(workspace.parent) == before
    (workspace.parent / "other.json").write_bytes(lottery(5900, ["55555"] * 5))
    assert run([*SPLIT, "--beacon-file", "../other.json"]) == Exit.BAD_INPUT
    assert (
        "../other.json: is not the randomness that exemplo/1 was carried out with, and a draw is carried out "
        "once. `lacre round audit` repeats it" in capsys.readouterr().err
    )
    assert run(ROTATE) == Exit.BAD_INPUT
    assert "closing exemplo/2: is not frozen" in capsys.readouterr().err


def test_rotate_and_audit(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged(workspace, 1, frozen=True)
    assert run(SPLIT) == Exit.BAD_INPUT
    assert "is a rotation. Run `lacre round rotate`." in capsys.readouterr().err
    assert run(ROTATE) == Exit.CLEAN
    assert "exemplo/2:" in capsys.readouterr().err
    assert run(["round", "audit"]) == Exit.CLEAN
    printed = capsys.readouterr()
    assert "repeatable, not shown unsteered: no time stamp" in printed.out
    assert "note: integrity only" in printed.err
    assert "all of it holds" in printed.err


def test_what_the_audit_finds_ends_with_the_code_of_integrity(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace, 1)
    path = play.public.folder(1) / "openings.jsonl"
    path.write_bytes(path.read_bytes().replace(b"gaivotas", b"graxotas", 1))
    assert run(["round", "audit"]) == Exit.INTEGRITY
    said = capsys.readouterr()
    assert "registry/exemplo/rounds/0001/openings.jsonl: was changed" in said.err
    assert not [line for line in said.err.splitlines() if line.endswith("..") or not line.endswith(".")]
    assert "exemplo/1\tfailed" in said.out
    found = result(["round", "audit"], capsys)
    assert len(found["findings"]) >= 2  # type: ignore[arg-type]


def test_a_ledger_that_does_not_hold_ends_the_audit(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace, 1)
    path = Path("registry/ledger.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"items":8', b'"items":9', 1))
    assert run(["round", "audit"]) == Exit.INTEGRITY
    assert "ledger.jsonl:3: was changed" in capsys.readouterr().err


def test_void_counts_in_public(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged(workspace)
    arguments = ["round", "void", "pr-01", "pr-02", "--reason", "duas certas", "--key", "../team.key"]
    assert run(arguments) == Exit.CLEAN
    assert "2 items void" in capsys.readouterr().err
    assert run(arguments) == Exit.BAD_INPUT
    assert "item 'pr-01' is void already" in capsys.readouterr().err
    assert run(["round", "audit"]) == Exit.CLEAN
    assert "2 of 8 sealed items (25%) are void" in capsys.readouterr().err


def test_supersede_says_how_to_remove_the_source_and_prints_no_word_of_it(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace)
    arguments = ["round", "supersede", "pr-02", "../corrected.jsonl", "--reason", "vírgula", *OPEN]
    assert run(arguments) == Exit.CLEAN
    printed = capsys.readouterr()
    assert "'pr-02b' replaces 'pr-02'" in printed.err
    assert "shred -u ../corrected.jsonl" in printed.err
    assert "gaivotas" not in printed.err + printed.out
    before = files(workspace)
    assert run(arguments) == Exit.CLEAN
    assert files(workspace) == before


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([*FREEZE, "--force", "pr-00"], Exit.BAD_INPUT, "--force pr-00: is not ID=REASON"),
        ([*FREEZE, "--force", "pr-00=whim"], Exit.BAD_INPUT, "REASON is one of leak, exposure, defect"),
        ([*FREEZE, "--due", "noon"], Exit.BAD_INPUT, "--due noon: is no time"),
        ([*FREEZE, "--due", "2099-01-01T10:00"], Exit.BAD_INPUT, "says no time zone"),
        ([*FREEZE, "--due", "2024-01-01T10:00Z"], Exit.BAD_INPUT, "is due since 2024-01-01T10:00:00Z"),
        ([*FREEZE, "--randomness", "coin"], Exit.BAD_INPUT, "randomness 'coin': is none that we know"),
        ([*FREEZE, "--benchmark", "none"], Exit.BAD_INPUT, "no benchmark 'none'"),
        ([*FREEZE, "--key", "../none.key"], Exit.BAD_INPUT, "no such file"),
        ([*FREEZE, "--vault", "../none"], Exit.BAD_INPUT, "is no vault"),
        ([*FREEZE, "--require", "another"], Exit.BAD_INPUT, "was not vetted against another"),
        ([*WAIVE, "pr-07", "--who", " "], Exit.BAD_INPUT, "--who: is empty"),
        ([*WAIVE, "pr-00", "--who", "x"], Exit.BAD_INPUT, "item 'pr-00' has no verdict to answer for"),
        ([*WAIVE, "pr-99", "--who", "x"], Exit.BAD_INPUT, "item 'pr-99' is no private item"),
        (
            [*WAIVE, "pr-07", "--who", "x", "--corpus", "other"],
            Exit.BAD_INPUT,
            "item 'pr-07' has no verdict to answer for",
        ),
        (SPLIT, Exit.BAD_INPUT, "closing exemplo/1: is not frozen. Begin with `lacre round freeze`"),
        (
            [*SPLIT, "--beacon-file", "../none.json"],
            Exit.BAD_INPUT,
            "../none.json: no such file",
        ),
    ],
)
def test_what_is_refused_ends_with_one_clear_line(
    arguments: list[str], code: Exit, said: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace)
    before = files(workspace.parent)
    assert run(arguments) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert files(workspace.parent) == before


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "is empty"),
        ([private("a", cell=HERE), private("b", cell=HERE)], "holds 2 items"),
        (
            [msgspec.structs.replace(private("a", cell=HERE), layer="open")],
            "stands in a file of the private layer",
        ),
        ([private("a", cell={"area": "mar"})], "is none of the matrix"),
    ],
)
def test_a_correction_is_one_good_item(
    items: list[object], said: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace)
    jsonl.write(workspace.parent / "corrected.jsonl", items)
    assert (
        run(["round", "supersede", "pr-02", "../corrected.jsonl", "--reason", "x", *OPEN]) == Exit.BAD_INPUT
    )
    assert said in capsys.readouterr().err


def test_a_correction_inside_the_workspace_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace)
    jsonl.write(workspace / "corrected.jsonl", [private("pr-02b", cell=HERE)])
    assert run(["round", "supersede", "pr-02", "corrected.jsonl", "--reason", "x", *OPEN]) == Exit.BAD_INPUT
    assert "private text may not be in the workspace" in capsys.readouterr().err


def test_a_wrong_identity_is_one_clear_line(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged(workspace, frozen=True)
    write_identity(workspace.parent / "other.txt", new_identity())
    assert run([*SPLIT, "--identity", "../other.txt"]) == Exit.BAD_INPUT
    assert "does not open with this identity" in capsys.readouterr().err


def test_a_workspace_of_two_benchmarks_asks_which(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = workspace / "registry" / "outro"
    other.mkdir()
    (other / "benchmark.toml").write_text('name = "outro"\ntitle = "outro"\n')
    assert run(["round", "status"]) == Exit.BAD_INPUT
    assert "has 2 benchmarks. Say --benchmark: exemplo, outro." in capsys.readouterr().err


def test_no_word_of_a_sealed_item_is_printed_or_written_whatever_goes_wrong(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace, frozen=True)
    item_file = workspace.parent / "vault" / "items" / "pr-00.age"
    whole = item_file.read_bytes()
    commands = [
        ["round", "status"],
        ["round", "plan", "--beacon-file", "../draw-5900.json"],
        [*SPLIT, "--beacon-file", "../team.key"],
        ["round", "supersede", "pr-02", "../corrected.jsonl", "--reason", "x", *OPEN],
        ["round", "audit", "--json"],
        SPLIT,
    ]
    for content in (whole[:-7], whole[::-1], b""):
        for id in (f"pr-{n:02d}" for n in range(8)):
            (item_file.parent / f"{id}.age").write_bytes(content)
        for arguments in commands:
            assert run(arguments) in (Exit.CLEAN, Exit.FINDING, Exit.BAD_INPUT, Exit.INTEGRITY)
            printed = capsys.readouterr()
            assert "gaivotas" not in printed.out + printed.err
    assert run(SPLIT) == Exit.INTEGRITY
    assert not any(b"gaivotas" in content for content in files(workspace).values())
    assert play.public.history.closed == 0


def test_audit_counts_items_made_void_after_the_freeze_in_their_closing(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace, frozen=True)
    play.void(["pr-03"])
    assert run(["round", "audit", "--at", "2020-01-09T12:00Z"]) == Exit.CLEAN
    said = capsys.readouterr()
    assert "\t0 + 1 late\t" in said.out
    assert "its randomness is out since 2020-01-02T12:00:00Z, and the draw is not carried out." in said.err
    assert "made void after its freeze, when the draw could be known: pr-03." in said.err
    assert run(["round", "audit"]) == Exit.INTEGRITY
    assert "is not carried out; the rules give it 14 days." in capsys.readouterr().err
    assert run(["round", "audit", "--at", "noon"]) == Exit.BAD_INPUT
    assert "--at noon: is no time" in capsys.readouterr().err


def test_what_was_noted_before_the_hour_is_held_against_the_registry(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace, frozen=True)
    digest = sha256((play.public.folder(1) / "freeze.dsse.json").read_bytes())
    shutil.copytree("registry", "../copy/registry")
    play.close(lottery(play.draws))
    capsys.readouterr()
    for noted in (
        ["--published", digest],
        ["--witness", "../copy"],
        ["--witness", "../copy/registry/ledger.jsonl"],
    ):
        assert run(["round", "audit", *noted]) == Exit.CLEAN
        said = capsys.readouterr().out
        assert "exemplo/1\tnoted" in said
        assert "number and date at Caixa" in said
    assert run(["round", "audit", "--published", "abc"]) == Exit.BAD_INPUT
    assert "is no SHA-256" in capsys.readouterr().err
    assert run(["round", "audit", "--witness", "../nowhere"]) == Exit.BAD_INPUT
    assert "holds no ledger" in capsys.readouterr().err
    Path("../copy/registry/ledger.jsonl").write_text("nothing\n")
    assert run(["round", "audit", "--witness", "../copy"]) == Exit.INTEGRITY
    assert "line 1 is not what it was, by the copy ../copy" in capsys.readouterr().err


def test_a_correction_may_be_a_plain_row_which_keeps_the_cell(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace)
    row = "id;question;options;key\npr-02b;Que pássaros pousaram no cais da vila ontem?;(A) Garças (B) Pombos;2\n"
    (workspace.parent / "corrected.csv").write_text(row, encoding="utf-8")
    arguments = ["round", "supersede", "pr-02", "../corrected.csv", "--reason", "vírgula", *OPEN]
    assert run(arguments) == Exit.BAD_INPUT
    assert "items import" not in capsys.readouterr().err
    assert run([*arguments, "--map", "stem=question", "--key-index", "1"]) == Exit.CLEAN
    assert "shred -u ../corrected.csv" in capsys.readouterr().err
    rows = {row.id: row for row in play.public.rows}
    assert rows["pr-02b"].cell == rows["pr-02"].cell
    with play.vault() as vault:
        assert vault.sealed("pr-02b").item.payload.key == "B"


def test_a_vetting_on_other_ground_than_today_s_freezes_nothing(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace)
    corpus = workspace / "corpus"
    corpus.mkdir(exist_ok=True)
    (corpus / "a.txt").write_text("O farol apaga cedo.\n")
    play.vet(play.public.rows)
    freeze = ["round", "freeze", "--randomness", "drand:quicknet", "--due", "2099-01-16T19:00-03:00", *OPEN]
    for place, text in (
        ("corpus/a.txt", "O farol apaga cedo, e ninguém sabe.\n"),
        ("corpus/b.txt", "Outra página.\n"),
        ("registry/boilerplate.txt", "marque a alternativa correta\n"),
        ("registry/corpora.jsonl", '{"id":"corpus-a","location":"corpus/*.txt"}\n'),
    ):
        (workspace / place).write_text(text)
        assert run(freeze) == Exit.BAD_INPUT
        said = capsys.readouterr().err
        assert "8 items were vetted against corpus-a as it was then" in said
        assert "lacre vet --vault" in said
        play.vet(play.public.rows)
    assert run(freeze) == Exit.CLEAN
