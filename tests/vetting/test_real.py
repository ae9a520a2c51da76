"""Facts about real exams and real corpora that must come out (issue 1); they need LACRE_TEST_DATA."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.registry.intake import candidates
from lacre.registry.items import Candidate, Payload
from lacre.registry.rules import default_rules
from lacre.registry.verdicts import Finding
from lacre.vetting.vet import Vetting, vet

pytestmark = [pytest.mark.slow, pytest.mark.together]

ENEM_PAGES = "contaminated/enem_api_pages.jsonl.gz"
LAW = "law"
NOVELS = "clean/machado_romances_contos.jsonl.gz"
CLEAN = (
    "ud_bosque",
    "ud_petrogold_devtest",
    "ud_porttinari_devtest",
    "libreoffice_help_ptbr",
    "gimp_help_ptbr",
)
BOOKLETS = ("2021_PV_impresso_D1_CD2", "2021_PV_impresso_D2_CD7")
EXTRACTORS = ("pdfminer", "pymupdf", "pymupdf_sort", "pypdf")


@pytest.fixture(scope="module")
def root() -> Path:
    named = os.environ.get("LACRE_TEST_DATA")
    if not named:
        pytest.skip("LACRE_TEST_DATA is not set: no real items and corpora here")
    return Path(named)


@cache
def sources(root: Path) -> dict[str, str]:
    """The source of every item, by id."""
    with gzip.open(root / "items" / "items.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["id"]: row["source"] for row in rows}


@cache
def items(root: Path) -> tuple[Candidate, ...]:
    return candidates(root / "items" / "items.jsonl.gz").items


def vetting_of(root: Path, wanted: Sequence[Candidate], *names: str) -> Vetting:
    """Some items against some of the corpora."""
    with ThreadPoolExecutor(2) as executor:
        return vet(
            wanted,
            [str(root / "corpora" / name) for name in names],
            default_rules().vetting,
            executor=executor,
        )


def vetted(root: Path, *names: str, of: str) -> Vetting:
    """The items of one source against some of the corpora."""
    return vetting_of(root, [item for item in items(root) if sources(root)[item.id] == of], *names)


@cache
def whole(root: Path) -> Vetting:
    """All items against pages with copies of them, the law, novels and clean text: one vetting for many tests."""
    return vetting_of(
        root, items(root), ENEM_PAGES, LAW, NOVELS, *(f"clean/{name}.jsonl.gz" for name in CLEAN)
    )


def touched(root: Path, vetting: Vetting, corpus: str) -> Counter[str]:
    """Items by source that have thirteen words or more in a row with a corpus, whatever the verdict."""
    found = {
        finding.item
        for finding in vetting.findings
        if finding.check == "overlap" and finding.words >= 13 and finding.corpus.endswith(corpus)
    }
    return Counter(sources(root)[item] for item in found)


def deciding(vetting: Vetting, corpus: str) -> list[Finding]:
    """The findings of a corpus that decide a drop, one of each item."""
    firsts = [item.judged[0].finding for item in vetting.items if item.verdict.verdict == "drop"]
    return [finding for finding in firsts if finding.corpus.endswith(corpus)]


def test_all_items_were_read_and_each_has_a_verdict(root: Path) -> None:
    vetting = whole(root)
    assert len(vetting.verdicts) == len(sources(root)) == 9_974
    assert {verdict.item for verdict in vetting.verdicts} == set(sources(root))


def test_exam_items_on_web_pages_drop(root: Path) -> None:
    drops = Counter(sources(root)[finding.item] for finding in deciding(whole(root), ENEM_PAGES))
    assert drops["enem_api"] >= 2_750
    assert drops["gpt4enem_2022"] >= 165


@pytest.mark.parametrize("name", CLEAN)
def test_no_item_has_thirteen_words_in_common_with_clean_text(root: Path, name: str) -> None:
    vetting = whole(root)
    path = str(root / "corpora" / "clean" / f"{name}.jsonl.gz")
    assert [f for f in vetting.findings if f.corpus == path and f.check == "overlap" and f.words >= 13] == []
    reading = next(reading for reading in vetting.corpora if reading.corpus == path)
    assert reading.documents > 0
    assert reading.unread_bytes == 0


def test_the_constitution_touches_items_of_the_bar_exam(root: Path) -> None:
    name = f"{LAW}/1988.xml"
    assert touched(root, vetted(root, name, of="oab_ownpt"), name)["oab_ownpt"] == 43


def test_the_vade_mecum_touches_items_of_the_bar_exam(root: Path) -> None:
    name = f"{LAW}/Vade_mecum_2023.pdf.txt"
    assert 118 <= touched(root, vetted(root, name, of="oab_ownpt"), name)["oab_ownpt"] <= 126


def test_the_novels_of_machado_touch_items_that_quote_them(root: Path) -> None:
    found = touched(root, whole(root), NOVELS)
    assert found["enem_api"] == 10
    assert found["bluex_helm"] == 14


def unreadable(vetting: Vetting, name: str) -> Iterable[str]:
    return (gap.reason for reading in vetting.corpora if name in reading.corpus for gap in reading.unread)


@pytest.mark.parametrize("booklet", BOOKLETS)
@pytest.mark.parametrize("extractor", EXTRACTORS)
def test_a_garbled_text_layer_is_unreadable_and_what_it_may_hide_is_unknown(
    root: Path, extractor: str, booklet: str
) -> None:
    name = f"pdf_extracted/{booklet}__{extractor}.txt"
    vetting = vetted(root, name, of="healthbench_br")
    assert any("garbled" in reason for reason in unreadable(vetting, extractor))
    assert vetting.corpora[0].unread_share > default_rules().vetting.max_unread
    verdicts = Counter(verdict.verdict for verdict in vetting.verdicts)
    assert verdicts["unknown"] == sum(verdicts.values()) - verdicts["drop"]
    assert verdicts["keep"] == 0


@cache
def paragraphs(root: Path) -> tuple[Candidate, ...]:
    """The longer paragraphs of the OAB 37 booklet as another reader of PDFs saw them, each as an item."""
    elements = json.loads((root / "pdf" / "oab37" / "oab37_branca.pdf.json").read_text(encoding="utf-8"))
    return tuple(
        Candidate(id=element["element_id"], payload=Payload(kind="open", stem=element["text"]))
        for element in {element["element_id"]: element for element in elements}.values()
        if element["type"] == "NarrativeText" and len(element["text"].split()) >= 40
    )


# Sorted by position, the lines of two columns alternate: fewer runs of thirteen words are left.
@pytest.mark.parametrize(
    ("extractor", "least"), [("pdfminer", 0.9), ("pymupdf", 0.9), ("pypdf", 0.9), ("pymupdf_sort", 0.5)]
)
def test_a_sound_text_layer_is_read_clean_and_the_exam_in_it_found(
    root: Path, extractor: str, least: float
) -> None:
    with ThreadPoolExecutor(2) as executor:
        vetting = vet(
            paragraphs(root),
            [str(root / "corpora" / "pdf_extracted" / f"oab37_branca__{extractor}.txt")],
            default_rules().vetting,
            executor=executor,
        )
    assert vetting.corpora[0].unread_bytes == 0
    assert vetting.corpora[0].bytes > 100_000
    verdicts = Counter(verdict.verdict for verdict in vetting.verdicts)
    assert verdicts["unknown"] == 0
    assert verdicts["drop"] >= least * len(vetting.verdicts)
    assert len(vetting.verdicts) > 50


def test_the_same_vetting_twice_on_other_threads_gives_the_same_findings(root: Path) -> None:
    names = [str(root / "corpora" / name) for name in ("law", "clean/ud_bosque.jsonl.gz")]
    some = items(root)[4_000:6_000]
    results = []
    for threads, order in ((1, some), (4, some[::-1])):
        with ThreadPoolExecutor(threads) as executor:
            results.append(vet(order, names, default_rules().vetting, executor=executor))
    assert results[0].verdicts == results[1].verdicts
    assert results[0].findings == results[1].findings


def test_bar_exam_items_in_the_law_are_statute_and_never_copy(root: Path) -> None:
    findings = [f for f in whole(root).findings if f.corpus.endswith(LAW)]
    classes = Counter(f.class_ for f in findings if sources(root)[f.item] == "oab_ownpt")
    assert classes["copy"] == 0
    assert classes["statute"] >= 0.95 * classes.total() > 1_000
    drops = [f for f in deciding(whole(root), LAW) if sources(root)[f.item] == "oab_ownpt"]
    assert {finding.class_ for finding in drops} == {"statute"}


def test_what_items_quote_of_machado_is_quotation(root: Path) -> None:
    # Beside the novels alone, where no copy of an item decides in their place.
    found = {finding.item for finding in whole(root).findings if finding.corpus.endswith(NOVELS)}
    vetting = vetting_of(root, [item for item in items(root) if item.id in found], NOVELS)
    drops = Counter(finding.class_ for finding in deciding(vetting, NOVELS))
    assert drops["quotation"] >= 0.95 * drops.total() > 20


def test_exam_items_on_web_pages_are_copies(root: Path) -> None:
    drops = Counter(finding.class_ for finding in deciding(whole(root), ENEM_PAGES))
    assert drops.total() > 2_900
    assert drops["copy"] >= 0.95 * drops.total()


def texts(root: Path, *names: str) -> list[str]:
    """The documents of some corpora, whole."""
    found: list[bytes] = []
    for name in names:
        for shard in shards(str(root / "corpora" / name), column=None).shards:
            for batch in read(shard):
                for text, start in zip(batch.text.to_pylist(), batch.starts.tolist(), strict=True):
                    piece = (text or "").encode()
                    if start:
                        found[-1] += piece[len(found[-1]) - start :]
                    else:
                        found.append(piece)
    return [text.decode("utf-8", "ignore") for text in found]


def test_classes_stay_when_the_files_are_renamed_and_merged_into_one(root: Path, tmp_path: Path) -> None:
    names = (LAW, NOVELS, ENEM_PAGES)
    known: dict[tuple[str, str, tuple[int, int]], set[str]] = {}
    for finding in whole(root).findings:
        known.setdefault((finding.item, finding.check, finding.item_words), set()).add(finding.class_)
    (tmp_path / "x.txt").write_text("\n\n".join(texts(root, *names)), encoding="utf-8")
    with ThreadPoolExecutor(2) as executor:
        merged = vet(items(root), [str(tmp_path)], default_rules().vetting, executor=executor)
    same = [
        finding.class_ in known[finding.item, finding.check, finding.item_words]
        for finding in merged.findings
        if (finding.item, finding.check, finding.item_words) in known
    ]
    assert sum(same) >= 0.99 * len(same) > 5_000


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_bar_exam_items_pasted_into_the_statute_are_copies(root: Path, tmp_path: Path, share: float) -> None:
    exam = [item for item in items(root) if sources(root)[item.id] == "oab_ownpt"]
    pasted = [item for item in exam if len(item.payload.stem.split()) >= 30][:200]
    law = (root / "corpora" / "law" / "lei-8906.txt").read_text(encoding="utf-8").split("\n")
    for number, item in enumerate(pasted):
        words = item.payload.stem.split()
        lines = [" ".join(words[: int(share * len(words))])]
        if share == 1.0:
            lines += [f"{letter}) {text}" for letter, text in item.payload.options.items()]
        law.insert(number * len(law) // len(pasted), "\n".join(lines))
    (tmp_path / "lei.txt").write_text("\n".join(law), encoding="utf-8")
    with ThreadPoolExecutor(2) as executor:
        vetting = vet(pasted, [str(tmp_path)], default_rules().vetting, executor=executor)
    classes = Counter(finding.class_ for finding in deciding(vetting, str(tmp_path)))
    assert classes["copy"] >= (1.0 if share == 1.0 else 0.95) * len(pasted)
