"""The vetting page as text: what it says, what it never says, and that it is one safe file."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lacre.errors import RecordError
from lacre.registry.verdicts import Decision, Finding, Verdict
from lacre.registry.waivers import finding_id
from lacre.report.vetting import (
    CorpusRow,
    Evidence,
    Field,
    Gap,
    ItemRow,
    Thresholds,
    VettingPage,
    render,
    write,
)

VOID = {"meta", "input", "br", "rect"}


class Outline(HTMLParser):
    """Tags in order, with faults where one closes what another opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def outline(text: str) -> Outline:
    parser = Outline()
    parser.feed(text)
    parser.close()
    return parser


def one_item(
    item: str, text: str, excerpt: str, corpus: str = "foruns", reason: str = "13 words"
) -> VettingPage:
    """A page with one dropped item; everything a stranger wrote is an argument."""
    finding = Finding(
        item=item,
        check="overlap",
        corpus=corpus,
        shard=corpus + ".txt",
        document=excerpt[:20],
        bytes=(0, 9),
        fields=("stem",),
        item_words=(0, 13),
        words=13,
        score=1.0,
        coverage=1.0,
        channel="exact",
        class_="copy",
        documents=1,
        snippet="",
    )
    evidence = Evidence(
        finding=finding,
        excerpt=excerpt,
        item_marks=(("stem", 0, len(text)),) if text else (),
        document_marks=((0, len(excerpt)),) if excerpt else (),
    )
    verdict = Verdict(item=item, verdict="drop", reasons=(reason,), longest_run=13, coverage=1.0, findings=1)
    fields = (Field(name="stem", text=text), Field(name=corpus, text=text))
    return VettingPage(
        title=excerpt,
        rules=Thresholds(
            n=13, review_from=8, rare_min_words=8, rare_drop=0.9, rare_review=0.75, max_unread=0.001
        ),
        corpora=(
            CorpusRow(
                name=corpus,
                shards=1,
                documents=1,
                bytes=9,
                unread=(Gap(where=excerpt, reason=reason, bytes=1),),
                incomplete=True,
            ),
        ),
        items=(ItemRow(verdict=verdict, fields=fields, evidence=(evidence,)),),
    )


def test_the_page_is_what_it_was(page: VettingPage, golden: Callable[[str, str], None]) -> None:
    golden("vetting.html", render(page))


def test_an_empty_vetting_says_so(page: VettingPage, golden: Callable[[str, str], None]) -> None:
    golden("empty.html", render(msgspec.structs.replace(page, items=(), corpora=(), created=None)))


def test_the_same_records_give_the_same_bytes_in_any_order(page: VettingPage) -> None:
    first = render(page)
    for seed in range(5):
        items = list(page.items)
        random.Random(seed).shuffle(items)
        items = [msgspec.structs.replace(row, evidence=row.evidence[::-1]) for row in items]
        assert render(msgspec.structs.replace(page, items=tuple(items))) == first


def test_tags_close_and_anchors_are_unique_and_reached(page: VettingPage) -> None:
    seen = outline(render(page))
    assert (seen.open, seen.faults) == ([], [])
    assert len(seen.ids) == len(set(seen.ids))
    links = [attrs["href"] or "" for tag, attrs in seen.tags if tag == "a"]
    assert {link.removeprefix("#") for link in links} <= set(seen.ids)
    assert all(attrs.get("scope") in ("col", "row") for tag, attrs in seen.tags if tag == "th")
    assert {"header", "main"} <= {tag for tag, _ in seen.tags}


def test_headings_never_skip_a_level(page: VettingPage) -> None:
    levels = [int(tag[1]) for tag, _ in outline(render(page)).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_nothing_outside_the_file_is_named(page: VettingPage) -> None:
    text = render(page)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|XMLHttp|\bsrc=|<link|<img|<iframe", text)
    assert all((attrs["href"] or "").startswith("#") for tag, attrs in outline(text).tags if "href" in attrs)


def test_the_policy_forbids_everything_but_the_two_sheets(page: VettingPage) -> None:
    text = render(page)
    policy = next(
        a["content"] or "" for t, a in outline(text).tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        sheet = re.search(f"<{tag}>(.*?)</{tag}>", text, re.S)
        assert sheet
        digest = base64.b64encode(hashlib.sha256(sheet[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(
        r"<[^>]+\s(style|on[a-z]+)=", re.sub(r"<(style|script)>.*?</\1>", "", text, flags=re.S)
    )


def test_kept_items_show_their_verdict_and_never_their_text(page: VettingPage) -> None:
    text = render(page)
    assert "ex-b001" in text
    assert "Texto que fica em casa" not in text


def test_what_was_not_read_is_counted_and_a_banner_says_that_verdicts_are_missing(page: VettingPage) -> None:
    text = render(page)
    for words in (
        "A verificação está incompleta.",
        "1 item sem veredito",
        "the archive is cut short",
        "anexo.pdf",
        "4 lugares",
    ):
        assert words in text


def test_no_banner_when_all_was_read(page: VettingPage) -> None:
    whole = msgspec.structs.replace(page, corpora=page.corpora[:1], items=page.items[:1])
    assert 'class="banner"' not in render(whole)
    assert "nada ficou sem ler" in render(whole)


def test_findings_left_out_of_the_page_are_counted(page: VettingPage) -> None:
    assert "À vista: 2 de 7 achados" in render(page)


def test_every_reason_is_there_even_when_fewer_are_in_portuguese(page: VettingPage) -> None:
    row = page.items[1]
    verdict = msgspec.structs.replace(row.verdict, reasons=("first why", "second why"))
    text = render(msgspec.structs.replace(page, items=(msgspec.structs.replace(row, verdict=verdict),)))
    assert "first why" in text
    assert '<p class="more" lang="en">second why</p>' in text


def test_more_places_than_fit_are_counted(page: VettingPage) -> None:
    gaps = tuple(Gap(where=f"linha {n:04}", reason="not JSON", bytes=2) for n in range(1234))
    corpus = msgspec.structs.replace(page.corpora[0], unread=gaps)
    text = render(msgspec.structs.replace(page, corpora=(corpus,)))
    assert "1\u202f234 lugares" in text
    assert "e mais 1\u202f034 lugares" in text
    assert "linha 0199" in text
    assert "linha 0200" not in text


def test_one_line_may_stand_for_many_places(page: VettingPage) -> None:
    gaps = (
        Gap(where="linha 1", reason="not JSON", bytes=2),
        Gap(where="outras", reason="not JSON", bytes=9, places=41),
    )
    corpus = msgspec.structs.replace(page.corpora[0], unread=gaps)
    assert "42 lugares não lidos" in render(msgspec.structs.replace(page, corpora=(corpus,)))


def test_a_kept_item_needs_no_text_for_its_findings(page: VettingPage) -> None:
    row = page.items[5]
    kept = msgspec.structs.replace(row.verdict, verdict="keep")
    text = render(
        msgspec.structs.replace(page, items=(msgspec.structs.replace(row, verdict=kept, fields=()),))
    )
    assert "Dona Celeste" not in text
    assert '<tr data-v="keep"' in text


def test_the_deciding_finding_comes_first(page: VettingPage) -> None:
    text = render(page)
    assert text.index("53 palavras seguidas iguais</span>") < text.index("21 palavras seguidas iguais</span>")


def test_verdicts_come_in_their_order_of_weight(page: VettingPage) -> None:
    order = re.findall(r'<tr data-v="(\w+)"', render(page))
    assert order == sorted(order, key=["drop", "unknown", "review", "untestable", "keep"].index)


HOSTILE = [
    pytest.param("</script><img src=x onerror=alert(1)>", id="closes the script"),
    pytest.param("</style></title></textarea><svg/onload=alert(1)>", id="closes the style"),
    pytest.param('" onmouseover="alert(1)', id="leaves an attribute"),
    pytest.param("' autofocus onfocus='alert(1)", id="single quotes"),
    pytest.param("<!--", id="opens a comment"),
    pytest.param("]]><![CDATA[", id="CDATA"),
    pytest.param("{{ 7 * 7 }}{% raw %}{#", id="template"),
    pytest.param("%s %d %(x)s {0} {x}", id="format"),
    pytest.param("&lt;b&gt; &amp;amp;", id="already escaped"),
    pytest.param("\u202etxet thgir ot tfel\u202c \u2067x", id="right to left"),
    pytest.param("a\x00b\x1b[31m\x85c\ufeff\ud800", id="controls"),
    pytest.param("anticonstitucional" * 400, id="very long word"),
    pytest.param("عربي ١٢٣ ברית 漢字 🇧🇷", id="other scripts"),
    pytest.param("\r\n\n\t\x0c ", id="only space"),
    pytest.param("javascript:alert(1)", id="address"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_stranger_wrote_stays_text(text: str) -> None:
    plain = outline(render(one_item("ex-1", "lata azul", "lata azul")))
    seen = outline(render(one_item(text, text, text, corpus=text, reason=text)))
    assert (seen.open, seen.faults) == ([], [])

    def shape(outlined: Outline) -> list[tuple[str, frozenset[str]]]:
        """Tags and names of attributes; spans come and go with the length of a text."""
        known = [(tag, frozenset(attrs) - {"class"}) for tag, attrs in outlined.tags]
        return [entry for entry in known if entry[0] != "span"]

    assert shape(seen) == shape(plain)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_any_text_gives_a_page_that_is_utf8_and_closes(item: str, text: str) -> None:
    seen = outline(render(one_item(item, text, text)).encode().decode())
    assert (seen.open, seen.faults) == ([], [])


def test_every_mark_that_does_not_fit_is_reported_and_nothing_is_written(tmp_path: Path) -> None:
    good = one_item("ex-1", "lata azul", "lata azul")
    evidence = good.items[0].evidence[0]
    bad = msgspec.structs.replace(
        evidence, item_marks=(("stem", 0, 99), ("option:A", 0, 1)), document_marks=((5, 5), (-1, 2))
    )
    strange = msgspec.structs.replace(
        evidence, finding=msgspec.structs.replace(evidence.finding, item="ex-2")
    )
    row = msgspec.structs.replace(good.items[0], evidence=(bad, strange))
    broken = msgspec.structs.replace(good, items=(row, row))
    path = tmp_path / "vetting.html"
    with pytest.raises(RecordError) as caught:
        write(broken, path)
    message = str(caught.value)
    for words in (
        "2 times",
        "0-99 is outside the 9",
        "no field 'option:A'",
        "5-5 is outside",
        "-1-2 is outside",
        "belongs to item 'ex-2'",
    ):
        assert words in message
    assert list(tmp_path.iterdir()) == []


def test_the_written_page_is_the_rendered_one(page: VettingPage, tmp_path: Path) -> None:
    write(page, tmp_path / "out" / "vetting.html")
    assert (tmp_path / "out" / "vetting.html").read_bytes() == render(page).encode()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["vetting.html"]


def big_page(items: int, dropped: int, findings: int) -> VettingPage:
    """A long page: so many items, some of them dropped with so many findings each."""
    words = "o troco fica numa lata azul que foi do avô e ninguém conta as moedas antes do fim da feira " * 3

    def verdict(number: int) -> Verdict:
        decision: Decision = "drop" if number < dropped else "keep"
        return Verdict(
            item=f"ex-{number:05}",
            verdict=decision,
            reasons=("57 words",),
            longest_run=57,
            coverage=0.9,
            findings=findings,
        )

    template = one_item("x", words, words).items[0].evidence[0]
    rows = tuple(
        ItemRow(
            verdict=verdict(number),
            fields=(Field(name="stem", text=words),),
            evidence=tuple(
                msgspec.structs.replace(
                    template,
                    finding=msgspec.structs.replace(
                        template.finding, item=f"ex-{number:05}", shard=f"parte-{n}.txt"
                    ),
                )
                for n in range(findings if number < dropped else 0)
            ),
        )
        for number in range(items)
    )
    return msgspec.structs.replace(one_item("x", words, words), items=rows)


def test_a_long_page_is_drawn_within_ten_seconds_and_three_kilobytes_a_finding() -> None:
    small, large = big_page(10, 1, 1), big_page(10, 1, 101)
    text_bytes = 2 * 3 * 90
    assert (len(render(large)) - len(render(small))) / 100 - text_bytes < 3_000
    start = time.process_time()
    text = render(big_page(10_000, 3_000, 3))
    assert time.process_time() - start < 10
    assert text.count('<article class="finding">') == 9_000


def test_the_finding_that_weighs_most_decides_whatever_its_class(page: VettingPage) -> None:
    long = one_item("ex-1", "a b", "a b").items[0].evidence[0]
    excused = msgspec.structs.replace(
        long, finding=msgspec.structs.replace(long.finding, words=60, shard="longa.txt"), weight="keep"
    )
    quotation = msgspec.structs.replace(
        long,
        finding=msgspec.structs.replace(long.finding, class_="quotation", shard="curta.txt"),
        weight="drop",
    )
    given = one_item("ex-1", "a b", "a b")
    row = msgspec.structs.replace(given.items[0], evidence=(excused, quotation))
    text = render(msgspec.structs.replace(given, items=(row,)))
    assert text.index("curta.txt") < text.index("longa.txt")
    assert "classe: citação" in text


def test_each_finding_shows_the_name_by_which_it_is_waived(page: VettingPage) -> None:
    text = render(page)
    for row in page.items:
        if row.verdict.verdict != "keep":
            for evidence in row.evidence:
                assert f"<code>{finding_id(evidence.finding)}</code>" in text
