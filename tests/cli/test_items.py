"""`lacre items`: check, import and list on real files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lacre import jsonl
from lacre.cli import run
from lacre.errors import Exit
from lacre.registry.items import Item

Out = pytest.CaptureFixture[str]

IMPORT = [
    "items",
    "import",
    "questions.csv",
    "--benchmark",
    "exemplo",
    "--layer",
    "open",
    "--out",
    "new.jsonl",
]
NAMES = ["--map", "stem=question,options=alternatives"]
CELL = ["--cell", "area=saude/difficulty=facil"]


def test_check_is_clean_on_good_items(workspace: Path, capsys: Out) -> None:
    assert run(["items", "check"]) == Exit.CLEAN
    assert capsys.readouterr().out == "file\titems\nregistry/exemplo/open/items.jsonl\t2\n"


def test_check_names_every_bad_line_of_every_file(workspace: Path, capsys: Out) -> None:
    folder = workspace / "registry/exemplo"
    good = (folder / "open/items.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "open/items.jsonl").write_text(
        "\n".join([good[0], "{", good[1].replace("CC BY 4.0", "MIT"), good[0]]) + "\n", encoding="utf-8"
    )
    (folder / "official").mkdir(exist_ok=True)
    (folder / "official/exam.jsonl").write_text(good[0].replace("ex-01", "ex-09") + "\n", encoding="utf-8")
    assert run(["items", "check"]) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "registry/exemplo/official/exam.jsonl:1",
        *[f"registry/exemplo/open/items.jsonl:{number}" for number in (2, 3, 4, 4)],
    ]
    assert all(line.startswith("lacre: ") for line in lines)
    assert "stands in a file of the official layer" in lines[0]
    assert "its licence is not CC BY 4.0" in lines[2]
    assert "item 'ex-01' is already on line 1" in "".join(lines[3:])


def test_check_as_json_has_the_same_faults_and_code(workspace: Path, capsys: Out) -> None:
    path = workspace / "registry/exemplo/open/items.jsonl"
    path.write_text('{"id":"ex-01"}\n', encoding="utf-8")
    assert run(["items", "check", "--json"]) == Exit.BAD_INPUT
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["path"] == str(path)
    assert file["faults"] == [
        {"line": 1, "what": "Object missing required field `benchmark`", "todo": "Correct this line"}
    ]


def test_check_takes_files_outside_any_workspace(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.jsonl").write_bytes((workspace / "registry/exemplo/open/items.jsonl").read_bytes())
    monkeypatch.chdir(outside)
    assert run(["items", "check", "a.jsonl"]) == Exit.CLEAN
    assert run(["items", "check"]) == Exit.BAD_INPUT
    assert "is in no workspace" in capsys.readouterr().err
    assert run(["items", "check", "a.jsonl", "--benchmark", "exemplo"]) == Exit.BAD_INPUT
    (outside / "b.jsonl.gz").write_bytes(gzip.compress((outside / "a.jsonl").read_bytes()))
    assert run(["items", "check", "b.jsonl.gz"]) == Exit.CLEAN
    (outside / "plain.csv").write_text("id,stem\n1,Onde?\n")
    assert run(["items", "check", "plain.csv"]) == Exit.BAD_INPUT
    assert "Bring them in with `lacre items import`" in capsys.readouterr().err
    (outside / "bad.json").write_text('[{"id":"q","payload":{}}]')
    assert run(["items", "check", "bad.json"]) == Exit.BAD_INPUT
    assert "bad.json:1: missing field" in capsys.readouterr().err
    (outside / "none.json").write_text("[]")
    assert run(["items", "check", "none.json"]) == Exit.BAD_INPUT
    (outside / "empty.jsonl").write_text("")
    assert run(["items", "check", "empty.jsonl"]) == Exit.BAD_INPUT
    assert "no items" in capsys.readouterr().err


def test_private_text_in_the_workspace_is_a_fault_and_outside_is_not(workspace: Path, capsys: Out) -> None:
    open_items = (workspace / "registry/exemplo/open/items.jsonl").read_text(encoding="utf-8")
    private = open_items.replace('"layer":"open"', '"layer":"private"').replace("xícaras", "MARCADOR")
    (workspace / "loose.jsonl").write_text(private, encoding="utf-8")
    (workspace.parent / "vault.jsonl").write_text(private, encoding="utf-8")
    assert run(["items", "check", "loose.jsonl"]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert "private text stands in a file of the workspace" in said
    assert "MARCADOR" not in said
    assert run(["items", "check", "../vault.jsonl", "--benchmark", "exemplo"]) == Exit.CLEAN


def test_import_writes_whole_records_sorted_by_id(workspace: Path, capsys: Out) -> None:
    assert run([*IMPORT, *NAMES, *CELL, "--written", "grupo de teste"]) == Exit.CLEAN
    assert capsys.readouterr().out == "new.jsonl: 2 items\n"
    first, second = jsonl.read(workspace / "new.jsonl", Item)
    assert (first.id, second.id) == ("q1", "q2")
    assert first.payload.options == {"A": "Seis", "B": "Oito", "C": "Dez"}
    assert first.payload.key == "B"
    assert first.source.licence == "CC BY 4.0"
    assert first.cell == {"area": "saude", "difficulty": "facil"}
    assert run(["items", "check", "new.jsonl", "--benchmark", "exemplo"]) == Exit.CLEAN


def test_import_of_what_it_wrote_is_the_same_file(workspace: Path) -> None:
    run([*IMPORT, *NAMES, *CELL])
    again = [
        "items",
        "import",
        "new.jsonl",
        "--benchmark",
        "exemplo",
        "--layer",
        "open",
        "--out",
        "again.jsonl",
    ]
    assert run(again) == Exit.CLEAN
    assert (workspace / "again.jsonl").read_bytes() == (workspace / "new.jsonl").read_bytes()


def test_import_reads_cells_from_columns(workspace: Path) -> None:
    (workspace / "questions.csv").write_text(
        "id,stem,A,B,key,area,difficulty,colour\nq1,Onde?,Aqui,Ali,a,direito,dificil,azul\n", encoding="utf-8"
    )
    assert run(IMPORT) == Exit.CLEAN
    (only,) = jsonl.read(workspace / "new.jsonl", Item)
    assert only.cell == {"area": "direito", "difficulty": "dificil"}
    assert only.payload.options == {"A": "Aqui", "B": "Ali"}


def test_import_says_what_it_noticed(workspace: Path, capsys: Out) -> None:
    text = "id;stem;options;key;cor\nq1;Em que mês chove mais na serra?;['Março', 'Maio'];março;azul\n"
    (workspace / "questions.csv").write_bytes(text.encode("cp1252"))
    assert run([*IMPORT, *CELL]) == Exit.CLEAN
    assert capsys.readouterr().err.splitlines() == [
        "questions.csv: columns not used: cor",
        "questions.csv: 1 lines were not UTF-8 and were read as Windows-1252",
    ]
    assert run([*IMPORT, *CELL, "--force", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["items"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (NAMES, "cell '' is none of the matrix"),
        ([*NAMES, "--cell", "area=saude/difficulty=dificil"], "is none of the matrix"),
        ([*NAMES, "--cell", "saude"], "is not axis=value/axis=value"),
        ([*CELL, "--map", "stem=pergunta"], "no column 'pergunta' (for stem). The columns are: id, question"),
        (
            [*CELL],
            "no column 'stem'. The columns are: id, question, alternatives, key. Name it with --map stem=",
        ),
        ([*NAMES, *CELL, "--licence", "MIT"], "its licence is not CC BY 4.0"),
        ([*NAMES, *CELL, "--exam", "enem"], "an item of the open layer comes from exam 'enem'"),
        ([*NAMES, *CELL, "--out", "questions.csv"], "questions.csv: is there already"),
        ([*NAMES, *CELL, "--layer", "official", "--exam", "x"], "exam 'x' is not in exams.jsonl"),
        ([*NAMES, *CELL, "--layer", "private"], "private text may not be in the workspace"),
        ([*NAMES, *CELL, "--benchmark", "outro"], "no benchmark 'outro'. There are: exemplo"),
    ],
)
def test_import_refuses_and_writes_nothing(
    arguments: list[str], said: str, workspace: Path, capsys: Out
) -> None:
    assert run([*IMPORT, *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert not (workspace / "new.jsonl").exists()


def test_import_of_official_items_takes_exam_number_and_booklet(workspace: Path, capsys: Out) -> None:
    (workspace / "registry/exams.jsonl").write_text(
        '{"id":"prova-2024","name":"Prova","edition":"2024","exam_date":"2024-11","exam_precision":"month",'
        '"key_date":"2024-12-01","key_precision":"day","booklet_url":"https://example.org/b.pdf",'
        '"source_url":"https://example.org","source_date":"2025-01-02"}\n'
    )
    (workspace / "questions.csv").write_text(
        'id,number,stem,options,key\nq1,7,Quem?,"(A) Eu\n(B) Tu",Anulada\nq2,8,Qual?,"(A) Um\n(B) Dois",A\n'
    )
    official = [*IMPORT, *CELL, "--layer", "official"]
    assert run([*official, "--exam", "prova-2024"]) == Exit.CLEAN
    assert "1 annulled, without a key" in capsys.readouterr().err
    first, second = jsonl.read(workspace / "new.jsonl", Item)
    assert (first.source.annulled, first.payload.key, second.source.number) == (True, None, "8")
    assert first.source.exam == "prova-2024"


def test_import_of_private_items_goes_outside_the_workspace(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "private.jsonl"
    assert run([*IMPORT, *NAMES, *CELL, "--layer", "private", "--out", str(out)]) == Exit.CLEAN
    assert {item.layer for item in jsonl.read(out, Item)} == {"private"}


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_private_items_are_written_for_their_owner_only_and_said_to_be_plain(
    workspace: Path, tmp_path: Path, capsys: Out, more: list[str]
) -> None:
    out = tmp_path / "private items.jsonl"
    out.write_text("older", encoding="utf-8")
    out.chmod(0o644)
    private = [*IMPORT, *NAMES, *CELL, "--layer", "private", "--out", str(out), "--force", *more]
    assert run(private) == Exit.CLEAN
    assert out.stat().st_mode & 0o777 == 0o600
    said = capsys.readouterr().err
    assert "holds private items in plain text" in said
    assert f"once they are in the vault, remove it: `shred -u '{out}'`" in said
    assert run([*IMPORT, *NAMES, *CELL]) == Exit.CLEAN
    assert (workspace / "new.jsonl").stat().st_mode & 0o044
    assert "plain text" not in capsys.readouterr().err


def test_private_items_are_written_into_no_git_work_tree(
    workspace: Path, tmp_path: Path, capsys: Out
) -> None:
    tree, free = tmp_path / "tree", tmp_path / "free"
    for folder in (tree / ".git", tree / "deep", free):
        folder.mkdir(parents=True)
    (tree / "link.jsonl").symlink_to(free / "target.jsonl")
    for out in (tree / "deep/private.jsonl", tree / "link.jsonl"):
        arguments = [*IMPORT, *NAMES, *CELL, "--layer", "private", "--out", str(out)]
        assert run(arguments) == Exit.BAD_INPUT
        assert f"is inside the git work tree {tree}" in capsys.readouterr().err
        assert not out.exists()


def test_list_filters_by_layer_and_cell(workspace: Path, capsys: Out) -> None:
    assert run(["items", "list"]) == Exit.CLEAN
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["id", "benchmark", "layer", "cell", "kind", "words"]
    assert rows == [
        "ex-01\texemplo\topen\tarea=saude/difficulty=facil\tchoice\t10",
        "ex-02\texemplo\topen\tarea=direito/difficulty=dificil\topen\t10",
    ]
    assert run(["items", "list", "--cell", "area=direito", "--json"]) == Exit.CLEAN
    assert [row["id"] for row in json.loads(capsys.readouterr().out)["items"]] == ["ex-02"]
    assert run(["items", "list", "--layer", "official", "--benchmark", "exemplo", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out) == {"items": []}


@pytest.mark.parametrize("cell", ["area=artes", "cor=azul", "saude"])
def test_list_refuses_a_cell_that_is_not_there(cell: str, workspace: Path, capsys: Out) -> None:
    assert run(["items", "list", "--cell", cell]) == Exit.BAD_INPUT
    assert "cell" in capsys.readouterr().err


def test_a_workspace_without_a_benchmark_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    run(["init", str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    assert run(["items", "list"]) == Exit.BAD_INPUT
    assert "no benchmark yet" in capsys.readouterr().err
