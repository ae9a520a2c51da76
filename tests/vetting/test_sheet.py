"""Waivers and the decision sheet: what drops, is waived, and drops again when the text changes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.vetting.making import FILLER, RULES, STEM, choice, folder

from lacre.errors import InputError, RecordError
from lacre.registry.items import Candidate
from lacre.registry.waivers import Waiver
from lacre.vetting.sheet import COLUMNS, guarded, open_rows, read_decisions, unguarded, waive
from lacre.vetting.vet import DECISIONS, Vetting, write
from lacre.vetting.vet import vet as vetted

WHEN = "2031-05-02"


def vet(items: Sequence[Candidate], source: str, waivers: Iterable[Waiver] = ()) -> Vetting:
    with ThreadPoolExecutor(2) as executor:
        return vetted(items, [source], RULES, executor=executor, waivers=tuple(waivers))


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    return folder(tmp_path / "corpus", a_txt=FILLER + STEM + FILLER, b_txt=FILLER)


@pytest.fixture
def sheet(tmp_path: Path, corpus: str) -> Path:
    write(vet([choice("2010-01-1")], corpus), "", tmp_path / "out")
    return tmp_path / "out" / DECISIONS


def decided(sheet: Path, **cells: str) -> Path:
    """The sheet as a spreadsheet program hands it back, the same cells filled in on every row."""
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig")), delimiter=";"))
    return saved(sheet, [row | cells for row in rows])


def saved(sheet: Path, rows: Sequence[dict[str, str]], delimiter: str = ";", ending: str = "\r\n") -> Path:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, delimiter=delimiter, lineterminator=ending)
    writer.writeheader()
    writer.writerows(rows)
    sheet.write_bytes(text.getvalue().encode())
    return sheet


def waivers(sheet: Path) -> tuple[Waiver, ...]:
    filled = decided(sheet, decision="waive", reason="texto nosso", who="Comissão")
    return read_decisions(filled, who=None, when=WHEN).waivers


def test_a_waived_item_is_kept_and_drops_again_when_its_text_changes(sheet: Path, corpus: str) -> None:
    known = waivers(sheet)
    kept = vet([choice("2010-01-1")], corpus, known)
    assert [v.verdict for v in kept.verdicts] == ["keep"]
    assert kept.verdicts[0].reasons[0].startswith("waived: ")
    assert "Comissão" not in " ".join(kept.verdicts[0].reasons)
    changed = vet([choice("2010-01-1", STEM.replace("seca?", "enxuta?"))], corpus, known)
    assert [v.verdict for v in changed.verdicts] == ["drop"]
    assert f"the waiver of {WHEN} is void: the item's text has changed since" in changed.verdicts[0].reasons


def test_a_waiver_excuses_no_other_item_and_no_other_finding(
    tmp_path: Path, sheet: Path, corpus: str
) -> None:
    known = waivers(sheet)
    assert [v.verdict for v in vet([choice("outro")], corpus, known).verdicts] == ["drop"]
    other = folder(tmp_path / "other", c_txt=FILLER + STEM)
    assert [v.verdict for v in vet([choice("2010-01-1")], other, known).verdicts] == ["drop"]
    some = [waiver for waiver in known if waiver.finding == known[0].finding]
    assert len(some) < len(known)
    assert [v.verdict for v in vet([choice("2010-01-1")], corpus, some).verdicts] == ["drop"]


def test_a_waived_match_that_spread_to_more_documents_drops_again(sheet: Path, corpus: str) -> None:
    known = waivers(sheet)
    Path(corpus, "z.txt").write_text(FILLER + STEM + FILLER, encoding="utf-8")
    verdict = vet([choice("2010-01-1")], corpus, known).verdicts[0]
    assert verdict.verdict == "drop"
    assert any("waived when in 1 documents and now in 2" in reason for reason in verdict.reasons)


def test_a_waiver_answers_no_doubt_about_what_was_not_read(tmp_path: Path, sheet: Path, corpus: str) -> None:
    known = waivers(sheet)
    Path(corpus, "broken.jsonl").write_bytes(b'{"text": "a"}\n' + b'{"text": \n' * 40)
    assert [v.verdict for v in vet([choice("2010-01-1")], corpus, known).verdicts] == ["unknown"]


def windows(sheet: Path) -> Path:
    text = sheet.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    sheet.write_bytes(text.encode("cp1252", "replace"))
    return sheet


def commas(sheet: Path) -> Path:
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig")), delimiter=";"))
    return saved(sheet, rows, ",", "\n")


def marked(sheet: Path) -> Path:
    sheet.write_bytes(b"\xef\xbb\xbf" + sheet.read_bytes())
    return sheet


@pytest.mark.parametrize("program", [windows, commas, marked])
def test_the_sheet_survives_the_way_through_a_spreadsheet_program(
    sheet: Path, corpus: str, program: Callable[[Path], Path]
) -> None:
    filled = decided(sheet, decision="Dispensar", reason="citação; texto da lei, art. 5", who="Comissão")
    known = read_decisions(program(filled), who=None, when=WHEN).waivers
    assert [v.verdict for v in vet([choice("2010-01-1")], corpus, known).verdicts] == ["keep"]


def test_the_sheet_is_semicolons_crlf_and_a_byte_order_mark(sheet: Path) -> None:
    content = sheet.read_bytes()
    assert content.startswith(b"\xef\xbb\xbfdecision;reason;who;item;")
    assert content.count(b"\n") == content.count(b"\r\n") > 1
    assert b";'2010-01-1;" in content


@given(st.text())
def test_no_cell_is_a_formula_and_each_comes_back(cell: str) -> None:
    assert guarded(cell)[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n")
    assert unguarded(guarded(cell)) == cell


def test_one_row_can_waive_all_rows_of_its_item(sheet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig")), delimiter=";"))
    rows[0] |= {"decision": "waive all", "reason": "nosso"}
    found = read_decisions(saved(sheet, rows), who="Comissão", when=WHEN)
    assert (len(found.waivers), found.undecided) == (len(rows), 0)
    assert {(waiver.reason, waiver.who) for waiver in found.waivers} == {("nosso", "Comissão")}


def test_items_to_revise_are_listed_and_open_rows_counted(sheet: Path) -> None:
    found = read_decisions(decided(sheet, decision="revise", reason="copiado"), who=None, when=WHEN)
    assert (found.waivers, found.revisions) == ((), (("2010-01-1", "copiado"),))
    found = read_decisions(decided(sheet, decision=""), who=None, when=WHEN)
    assert found.undecided > 0
    assert found.revisions == ()


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"decision": "talvez"}, "decision 'talvez' is not waive, waive all or revise"),
        ({"decision": "waive", "who": "C"}, "has no reason"),
        ({"decision": "waive", "reason": "r"}, "has no who"),
        ({"decision": "waive", "reason": "r", "who": "C", "item": "01/01/2010"}, "is not what was written"),
        ({"decision": "waive", "reason": "r", "who": "C", "bytes": "1"}, "is not what was written"),
        ({"decision": "waive", "reason": "r", "who": "C", "document": "x"}, "is not what was written"),
        (
            {"decision": "waive", "reason": "r", "who": "C", "payload_sha256": "1E+12"},
            "payload_sha256 is not",
        ),
    ],
)
def test_a_row_that_decides_nothing_clear_is_refused(sheet: Path, cells: dict[str, str], said: str) -> None:
    with pytest.raises(RecordError, match=said):
        read_decisions(decided(sheet, **cells), who=None, when=WHEN)


def test_an_item_cannot_be_revised_and_waived(sheet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig")), delimiter=";"))
    assert len(rows) > 1
    rows[0] |= {"decision": "revise"}
    rows[1] |= {"decision": "waive", "reason": "r", "who": "C"}
    with pytest.raises(RecordError, match="is to be revised and waived"):
        read_decisions(saved(sheet, rows), who=None, when=WHEN)


def test_a_sheet_that_lost_a_column_is_refused(sheet: Path) -> None:
    sheet.write_text("decision;item\nwaive;q1\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no column 'reason'"):
        read_decisions(sheet, who=None, when=WHEN)


def test_findings_are_named_by_their_beginning(sheet: Path) -> None:
    rows = open_rows(sheet)["2010-01-1"]
    name = rows[0]["finding"]
    (one,) = waive(rows, [name[:9]], reason="r", who="C", when=WHEN)
    assert one.finding == name
    assert len(waive(rows, [], reason="r", who="C", when=WHEN)) == len(rows)
    with pytest.raises(InputError, match="is no finding of the item"):
        waive(rows, ["fzzz"], reason="r", who="C", when=WHEN)
    with pytest.raises(InputError, match="is the beginning of several findings"):
        waive(rows, ["f"], reason="r", who="C", when=WHEN)
