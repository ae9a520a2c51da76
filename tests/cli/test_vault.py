"""``lacre vault``, ``lacre vet --vault`` and ``lacre items list --vault``, as a person meets them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.sealing.faults import MARKER, leaks

from lacre.cli import run
from lacre.errors import Exit, InputError
from lacre.registry.ledger import read
from lacre.sealing.ages import read_identity
from lacre.sealing.batches import read_rows, rows_place
from lacre.sealing.checks import Check, keep_checks, read_checks
from lacre.sealing.vault import open_vault

QUESTIONS = f"""\
id;stem;options;key;area;difficulty
n1;Que horas marca o relógio que a {MARKER} escondeu no sótão da fazenda velha?;(A) Três (B) Nove;b;saude;facil
n2;Quantas patas tem a aranha que mora atrás do espelho do corredor?;(A) Seis (B) Oito (C) Dez;b;direito;dificil
"""


@pytest.fixture
def held(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The folder beside the workspace: an empty vault with its identity, and a file of items."""
    beside = workspace.parent / "beside"
    beside.mkdir()
    (beside / "items.csv").write_text(QUESTIONS, encoding="utf-8")
    assert run(["key", "new", "--name", "team", "--out", str(beside / "team.key")]) == 0
    assert run(["vault", "init", str(beside / "vault"), "--new-identity", str(beside / "me.txt")]) == 0
    assert "keep a copy elsewhere" in capsys.readouterr().err
    return beside


def vault(held: Path, verb: str, *more: str) -> int:
    return run(["vault", verb, str(held / "vault"), *more, "--identity", str(held / "me.txt")])


def add(held: Path, batch: str = "1", *more: str) -> int:
    signed = ("--batch", batch, "--key", str(held / "team.key"))
    return vault(held, "add", str(held / "items.csv"), "--benchmark", "exemplo", *signed, *more)


def test_items_go_from_file_to_vault_in_one_step(
    held: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(held) == Exit.CLEAN
    said = capsys.readouterr()
    assert "2 items sealed in batch 1, 0 there already" in said.out
    assert f"shred -u {held / 'items.csv'}" in said.err
    rows = read_rows(workspace / rows_place("exemplo"))
    assert [row.id for row in rows] == ["n1", "n2"]
    assert [line.event.__struct_config__.tag for line in read(workspace / "registry/ledger.jsonl").lines] == [
        "genesis",
        "key_add",
        "batch_commit",
    ]
    assert add(held) == Exit.CLEAN
    assert "0 items sealed in batch 1, 2 there already" in capsys.readouterr().out
    assert vault(held, "check") == Exit.CLEAN
    assert "2 items and 0 documents hold" in capsys.readouterr().out


def test_an_identity_of_a_vault_that_was_not_made_is_not_left_behind(
    held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = held / "new.txt"
    assert run(["vault", "init", str(held), "--new-identity", str(new)]) == Exit.BAD_INPUT
    assert "is there already and is not empty" in capsys.readouterr().err
    assert not new.exists()


def test_a_batch_is_committed_once(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(held) == Exit.CLEAN
    (held / "items.csv").write_text(QUESTIONS.replace("n1", "n3").replace("n2", "n4").replace("Qu", "Ai, qu"))
    assert add(held) == Exit.BAD_INPUT
    assert "batch '1': was committed on line 3 of the ledger, with 2 items" in capsys.readouterr().err
    assert add(held, "2") == Exit.CLEAN


def test_random_ids_tell_nothing_and_stay(
    held: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(held, "1", "--random-ids") == Exit.CLEAN
    ids = [row.id for row in read_rows(workspace / rows_place("exemplo"))]
    assert all(id.startswith("p-") for id in ids)
    assert add(held, "1", "--random-ids", "--json") == Exit.CLEAN
    out = capsys.readouterr().out
    assert json.loads(out[out.index("{") :])["already"] == ids


def test_bad_items_are_named_by_line_and_nothing_is_sealed(
    held: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (held / "items.csv").write_text(QUESTIONS.replace("saude", "nada").replace(";b;direito", ";Z;direito"))
    assert add(held) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert "items.csv:2: item 'n1': cell 'area=nada/difficulty=facil' is none of the matrix" in said
    assert "items.csv:3: item 'n2': the key is none of the letters" in said
    assert MARKER not in said
    assert list((held / "vault/items").iterdir()) == []


def test_lists_show_what_the_public_may_see(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(held)
    capsys.readouterr()
    assert vault(held, "list", "--json") == Exit.CLEAN
    listed = json.loads(capsys.readouterr().out)["items"]
    assert [set(row) for row in listed] == [{"id", "benchmark", "cell", "batch", "commitment"}] * 2
    arguments = ["--vault", str(held / "vault"), "--identity", str(held / "me.txt"), "--cell", "area=saude"]
    assert run(["items", "list", *arguments]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[1:] == [
        "n1\texemplo\tprivate\tarea=saude/difficulty=facil\t1"
    ]


def test_show_prints_to_a_terminal_only(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(held)
    capsys.readouterr()
    assert vault(held, "show", "n1") == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert "the output is no terminal" in said.err
    assert MARKER not in said.out + said.err
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lacre", "vault", "show", str(held / "vault"), "n1"]
    child = subprocess.run(
        [*command, "--identity", str(held / "me.txt")], stdout=theirs, stderr=subprocess.PIPE, check=False
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert child.returncode == 0, child.stderr
    assert MARKER in shown
    assert "Key: B" in shown


def test_vetting_keeps_the_evidence_in_the_vault(
    held: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(held)
    capsys.readouterr()
    where = ["--vault", str(held / "vault"), "--identity", str(held / "me.txt")]
    code = run(["vet", *where, "--corpus", "leaks", "--corpus", "corpus", "--out", "vetting", "--json"])
    assert code == Exit.FINDING
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert [(v["item"], v["verdict"], v["findings"] > 0) for v in verdicts] == [
        ("n1", "keep", False),
        ("n2", "drop", True),
    ]
    assert all(set(v) == {"item", "verdict", "classes", "findings"} for v in verdicts)
    assert [path.name for path in (workspace / "vetting").iterdir()] == ["verdicts.jsonl"]
    assert "aranha" not in (workspace / "vetting/verdicts.jsonl").read_text()
    (held / "items.csv").unlink()
    assert leaks(workspace.parent) == []
    assert leaks(workspace.parent, "patas tem a aranha") == [workspace / "items.csv", workspace / "leaks/page.txt",
                                                             workspace / "questions.csv"]  # fmt: skip
    assert vault(held, "check", "--json") == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["documents"] == 3


def kept_checks(held: Path) -> tuple[Check, ...]:
    with open_vault(held / "vault", read_identity(held / "me.txt", input)) as opened:
        return read_checks(opened)


def test_vetting_by_a_clock_that_went_backwards_keeps_nothing(
    held: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add(held)
    vet = ["vet", "--vault", str(held / "vault"), "--identity", str(held / "me.txt"), "--corpus"]
    capsys.readouterr()
    monkeypatch.setattr("lacre.cli.vet_vault.now", lambda: "2001-01-01T00:00:00Z")
    assert run([*vet, "corpus", "--out", "old"]) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert "ledger.jsonl: the clock says 2001-01-01T00:00:00Z, before the ledger's last line, " in said.err
    assert (said.out, kept_checks(held)) == ("", ())
    monkeypatch.setattr("lacre.cli.vet_vault.now", lambda: "2999-01-02T00:00:00Z")
    assert run([*vet, "leaks"]) == Exit.FINDING
    before = kept_checks(held)
    assert {check.at for check in before} == {"2999-01-02T00:00:00Z"}
    for times in (["2999-01-01T23:59:59Z"], ["2999-01-02T00:00:00Z", "2999-01-01T00:00:00Z"]):
        monkeypatch.setattr("lacre.cli.vet_vault.now", iter(times).__next__)
        assert run([*vet, "corpus", "--out", "old"]) == Exit.BAD_INPUT
        assert "before the newest vetting in the vault, 2999-01-02T00:00:00Z" in capsys.readouterr().err
        assert kept_checks(held) == before
    assert not any(Path("old").glob("*"))


def test_an_older_check_never_takes_the_place_of_a_newer(held: Path) -> None:
    new = Check(
        item="n1",
        commitment="0" * 64,
        corpus="c",
        verdict="drop",
        classes={},
        findings=1,
        at="2026-02-01T00:00:00Z",
    )
    old = msgspec.structs.replace(new, verdict="keep", at="2026-01-01T00:00:00Z")
    with open_vault(held / "vault", read_identity(held / "me.txt", input)) as opened:
        with opened.change() as change:
            keep_checks(change, [new])
        with pytest.raises(InputError, match="was vetted against c at 2026-02-01"), opened.change() as change:
            keep_checks(change, [old])
    assert kept_checks(held) == (new,)


def test_vetting_takes_a_file_or_a_vault(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--vault", str(held / "vault"), "--identity", str(held / "me.txt"), "--corpus", "corpus"]
    assert run(["vet", "items.csv", *where]) == Exit.BAD_INPUT
    assert run(["vet", "--corpus", "corpus"]) == Exit.BAD_INPUT
    assert run(["vet", *where]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    for each in ("takes no file of items", "no items. Name their file", "no items to vet"):
        assert each in said


def test_a_row_that_was_relabelled_is_named(
    held: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(held)
    rows = workspace / rows_place("exemplo")
    rows.write_text(rows.read_text().replace("saude", "praia"))
    assert vault(held, "check") == Exit.INTEGRITY
    assert "the row of item 'n1' is not the one that was sealed" in capsys.readouterr().err


def test_the_vault_of_another_workspace_is_refused(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    assert run(["init", str(other), "--benchmark", "exemplo"]) == Exit.CLEAN
    monkeypatch.chdir(other)
    run(["vault", "init", str(tmp_path / "second"), "--new-identity", str(tmp_path / "second.txt")])
    assert vault(held, "list") == Exit.BAD_INPUT
    assert "is the vault of another workspace" in capsys.readouterr().err


def test_rekeying_changes_who_can_open_it(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(held)
    other = held / "other"
    run(["vault", "init", str(other), "--new-identity", str(held / "new.txt"), "--json"])
    out = capsys.readouterr().out
    recipient = json.loads(out[out.index("{") :])["readers"]["operator"]
    assert vault(held, "rekey", "--recipient", f"custodian={recipient}") == Exit.CLEAN
    assert "operator can no longer open it" in capsys.readouterr().err
    assert vault(held, "list") == Exit.BAD_INPUT
    assert run(["vault", "check", str(held / "vault"), "--identity", str(held / "new.txt")]) == Exit.CLEAN


def test_a_vault_inside_the_workspace_s_git_tree_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / ".git").mkdir()
    assert run(["vault", "init", "vault", "--new-identity", "../me.txt"]) == Exit.BAD_INPUT
    assert "is inside the git work tree" in capsys.readouterr().err
    assert run(["vault", "init", "../vault", "--new-identity", "me.txt"]) == Exit.BAD_INPUT
    assert run(["vault", "init", "../vault"]) == Exit.BAD_INPUT
    assert run(["vault", "init", "../vault", "--recipient", "me=age1nothing"]) == Exit.BAD_INPUT
    assert run(["vault", "init", "../vault", "--recipient", "age1nothing"]) == Exit.BAD_INPUT
    assert not (workspace.parent / "vault").exists()


def off_terminal(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """The command in a session of its own, which has no terminal, with ``typed`` in a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "lacre", *arguments],
        input=typed, capture_output=True, text=True, start_new_session=True, check=False,
    )  # fmt: skip


def test_no_secret_is_read_from_a_pipe(held: Path) -> None:
    secret = (held / "me.txt").read_text().splitlines()[-1]
    for arguments in (
        ["vault", "list", str(held / "vault")],
        ["vet", "--vault", str(held / "vault"), "--corpus", "corpus"],
    ):
        ended = off_terminal(*arguments, typed=f"{secret}\n")
        assert (ended.returncode, ended.stdout) == (Exit.BAD_INPUT, "")
        (line,) = ended.stderr.splitlines()
        assert line.endswith("Identity (AGE-SECRET-KEY-...): no terminal to ask on; give --identity FILE.")
        assert secret not in ended.stderr


def test_no_passphrase_is_read_from_a_pipe(held: Path, workspace: Path) -> None:
    out = held / "new.key"
    ended = off_terminal("key", "new", "--name", "ana", "--out", str(out), "--passphrase", typed="x\nx\n")
    assert ended.returncode == Exit.BAD_INPUT
    (line,) = ended.stderr.splitlines()
    assert "no terminal to ask on; run it on a terminal, or give a file that needs no passphrase" in line
    assert not out.exists()


def test_an_identity_is_typed_in_on_a_terminal(held: Path) -> None:
    secret = (held / "me.txt").read_text().splitlines()[-1]
    child, ours = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "lacre", "vault", "list", str(held / "vault")])
    shown = b""
    while b"Identity" not in shown:
        shown += os.read(ours, 4096)
    os.write(ours, f"{secret}\n".encode())
    while b"No items there." not in shown:
        shown += os.read(ours, 4096)
    assert os.waitpid(child, 0)[1] == 0
    os.close(ours)
    assert secret.encode() not in shown


def test_a_custodian_makes_an_identity_and_gives_only_the_recipient_away(
    held: Path, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = held / "custodian.txt"
    assert run(["vault", "identity", str(theirs)]) == Exit.CLEAN
    printed = capsys.readouterr()
    recipient = printed.out.strip()
    assert recipient.startswith("age1")
    assert "AGE-SECRET-KEY-" not in printed.out + printed.err
    assert theirs.stat().st_mode & 0o777 == 0o600
    assert run(["vault", "identity", str(theirs)]) == Exit.BAD_INPUT
    assert run(["vault", "identity", str(held / "other.txt"), "--json"]) == Exit.CLEAN
    said = capsys.readouterr()
    assert set(json.loads(said.out)) == {"file", "recipient"}
    assert "there already" in said.err
    (workspace / ".git").mkdir()
    assert run(["vault", "identity", "mine.txt"]) == Exit.BAD_INPUT
    assert run(["vault", "init", str(held / "two"), "--recipient", f"custodian={recipient}"]) == Exit.CLEAN
    assert run(["vault", "check", str(held / "two"), "--identity", str(theirs)]) == Exit.CLEAN
