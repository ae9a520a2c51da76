"""The vetting page in a real browser: it narrows, sorts, unfolds, prints, fits a phone, asks for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from lacre.report.vetting import FIRST_ROWS, VettingPage, write


class Opened:
    """A tab, with what it complained of and what it asked for."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.tab: Page = context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(path.as_uri())

    def rows(self) -> list[str]:
        """Ids of the items in view, in their order."""
        return [text.strip() for text in self.tab.locator("#table tbody tr:visible th").all_inner_texts()]

    def shows(self, count: int) -> None:
        """Waits until the page says that so many items are in view."""
        expect(self.tab.locator("#count")).to_have_text(str(count))


@pytest.fixture
def opened(browser: Browser, page_file: Path) -> Iterator[Opened]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        seen = Opened(context, page_file)
        yield seen
        assert seen.complaints == []
        assert seen.asked == [page_file.as_uri()]


def test_it_opens_in_portuguese_with_the_verdicts_first(opened: Opened) -> None:
    assert opened.tab.locator("h2").first.inner_text() == "2 de 12 itens a descartar"
    assert opened.rows()[:2] == ["ex-3f9a", "ex-71c0"]


def test_english_is_one_key_away_and_option_texts_follow(opened: Opened) -> None:
    opened.tab.focus("#pt")
    opened.tab.keyboard.press("ArrowRight")
    assert opened.tab.locator("h2").first.inner_text() == "2 of 12 items to drop"
    assert "descartar" not in opened.tab.locator("main").inner_text()
    assert opened.tab.locator("#class option").all_inner_texts() == ["all", "copy", "quotation"]
    opened.tab.keyboard.press("ArrowLeft")
    assert opened.tab.locator("#class option").all_inner_texts() == ["todas", "cópia", "citação"]


def test_every_verdict_has_a_shape_of_its_own(opened: Opened) -> None:
    signs = opened.tab.locator(".how .chip").evaluate_all(
        "chips => chips.map((chip) => getComputedStyle(chip, '::before').content)"
    )
    assert len(set(signs)) == 5


def test_a_long_table_is_drawn_in_two_parts_and_printed_whole(
    browser: Browser, page: VettingPage, tmp_path: Path
) -> None:
    kept = page.items[0]
    rows = tuple(
        msgspec.structs.replace(kept, verdict=msgspec.structs.replace(kept.verdict, item=f"ex-{number:04}"))
        for number in range(FIRST_ROWS + 40)
    )
    path = tmp_path / "table.html"
    write(msgspec.structs.replace(page, items=rows), path)
    with browser.new_context() as context:
        seen = Opened(context, path)
        assert len(seen.rows()) == FIRST_ROWS
        seen.shows(FIRST_ROWS + 40)
        seen.tab.fill("#text", "ex-0539")
        seen.shows(1)
        assert seen.rows() == ["ex-0539"]
        seen.tab.click("button[type=reset]")
        seen.shows(FIRST_ROWS + 40)
        for _ in range(2):
            seen.tab.get_by_role("button", name="Item").click()
        assert seen.rows()[:2] == ["ex-0539", "ex-0538"]
        seen.tab.emulate_media(media="print")
        assert len(seen.rows()) == FIRST_ROWS + 40
        seen.tab.emulate_media(media="screen")
        seen.tab.click("#more")
        assert len(seen.rows()) == FIRST_ROWS + 40
        assert not seen.tab.locator("#more").is_visible()
        assert seen.complaints == []


def test_items_narrow_by_verdict(opened: Opened) -> None:
    opened.tab.uncheck("[value=keep]")
    opened.tab.uncheck("[value=drop]")
    opened.shows(3)
    assert opened.rows() == ["ex-9d2d", "ex-a205", "ex-0c7e"]
    opened.tab.click("button[type=reset]")
    opened.shows(12)


@pytest.mark.parametrize(
    ("box", "value", "ids"),
    [
        ("#text", "LATA azul avo", ["ex-3f9a"]),
        ("#text", "topico-204", ["ex-3f9a"]),
        ("#text", "naohanada", []),
        ("#corpus", "blogues", ["ex-71c0"]),
        ("#field", "texto de apoio", ["ex-a205"]),
        ("#field", "alternativa", ["ex-3f9a"]),
        ("#class", "citação", ["ex-a205"]),
    ],
)
def test_items_and_their_findings_narrow_by(opened: Opened, box: str, value: str, ids: list[str]) -> None:
    if box == "#text":
        opened.tab.fill(box, value)
    else:
        opened.tab.select_option(box, label=value)
    opened.shows(len(ids))
    assert opened.rows() == ids
    assert opened.tab.locator("details.item:visible h3").all_inner_texts() == ids


@pytest.mark.parametrize(
    ("column", "first", "then"),
    [
        ("Item", "ex-0c7e", "ex-c005"),
        ("Maior trecho", "ex-3f9a", "ex-0c7e"),
        ("Cobertura", "ex-3f9a", "ex-0c7e"),
        ("Veredito", "ex-3f9a", "ex-b001"),
    ],
)
def test_items_sort_by(opened: Opened, column: str, first: str, then: str) -> None:
    button = opened.tab.get_by_role("button", name=re.compile(column))
    button.focus()
    opened.tab.keyboard.press("Enter")
    assert opened.rows()[0] == first
    opened.tab.keyboard.press("Enter")
    assert opened.rows()[0] == then
    assert opened.tab.locator("th[aria-sort]").count() == 1


def test_matched_words_are_marked_on_both_sides_and_not_by_colour_alone(opened: Opened) -> None:
    finding = opened.tab.locator(".finding").first
    assert finding.locator(".doc mark").first.inner_text().startswith("Dona Celeste vende pães")
    assert finding.locator(".fields mark").first.inner_text().startswith("Dona Celeste vende pães")
    left, right = (side.bounding_box() for side in finding.locator(".sides > section").all())
    assert left
    assert right
    assert right["x"] > left["x"] + left["width"] - 2
    line = finding.locator("mark").first.evaluate("mark => getComputedStyle(mark).textDecorationLine")
    assert line == "underline"


def test_a_link_from_the_table_opens_the_item(opened: Opened) -> None:
    opened.tab.click("#fold")
    assert opened.tab.locator("details.item[open]").count() == 0
    opened.tab.click("#table a:text('ex-a205')")
    opened.tab.wait_for_selector("details.item[open]")
    assert opened.tab.locator("details.item[open] h3").all_inner_texts() == ["ex-a205"]
    opened.tab.click("#unfold")
    assert opened.tab.locator("details.item[open]").count() == 4


LOUD = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!/, 0\\)|transparent/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const faint = new Set();
  const walker = document.createTreeWalker(document.querySelector("body"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("script,style,option")) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.add(`${node.className || node.tagName} ${ratio.toFixed(2)}`);
  }
  return [...faint];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_the_contrast_of_wcag_aa(browser: Browser, page_file: Path, scheme: str) -> None:
    with browser.new_context(color_scheme="dark" if scheme == "dark" else "light") as context:
        assert Opened(context, page_file).tab.evaluate(LOUD) == []


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
@pytest.mark.parametrize("tongue", ["pt", "en"])
def test_nothing_is_wider_than_the_screen(browser: Browser, page_file: Path, width: int, tongue: str) -> None:
    with browser.new_context(viewport={"width": width, "height": 740}) as context:
        seen = Opened(context, page_file)
        seen.tab.click(f"label[for={tongue}]")
        seen.tab.click("#unfold")
        assert seen.tab.evaluate("document.documentElement.scrollWidth") <= width
        assert seen.complaints == []


def test_a_very_long_word_wraps_on_a_phone(browser: Browser, page: VettingPage, tmp_path: Path) -> None:
    long = "inconstitucionalissimamente" * 40
    row = page.items[1]
    evidence = msgspec.structs.replace(
        row.evidence[0],
        excerpt=long,
        document_marks=((0, len(long)),),
        item_marks=(),
        finding=msgspec.structs.replace(
            row.evidence[0].finding, item=long, shard=long, corpus=long, document=long
        ),
    )
    row = msgspec.structs.replace(
        row,
        verdict=msgspec.structs.replace(row.verdict, item=long, reasons=(long,)),
        fields=(msgspec.structs.replace(row.fields[0], text=long),),
        evidence=(evidence,),
    )
    path = tmp_path / "long.html"
    write(msgspec.structs.replace(page, title=long, items=(row,)), path)
    for width in (360, 1280):
        with browser.new_context(viewport={"width": width, "height": 740}) as context:
            assert Opened(context, path).tab.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_the_document_stands_under_the_item(browser: Browser, page_file: Path) -> None:
    with browser.new_context(viewport={"width": 360, "height": 740}) as context:
        tab = Opened(context, page_file).tab
        item, document = (
            side.bounding_box() for side in tab.locator(".sides").first.locator("> section").all()
        )
        assert item
        assert document
        assert document["y"] >= item["y"] + item["height"] - 2


def test_without_scripts_the_table_stands_and_dead_controls_are_hidden(
    browser: Browser, page_file: Path
) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(page_file.as_uri())
        assert tab.locator("#table tbody tr:visible").count() == 12
        assert not tab.locator("#controls").is_visible()
        tab.click("label[for=en]")
        assert tab.locator("h2").first.inner_text() == "2 of 12 items to drop"


def test_printed_marks_are_bold_and_underlined_and_all_is_unfolded(opened: Opened) -> None:
    opened.tab.click("#fold")
    opened.tab.emulate_media(media="print")
    mark = opened.tab.locator("mark").first
    style = mark.evaluate(
        "mark => ['fontWeight', 'textDecorationLine', 'color'].map((name) => getComputedStyle(mark)[name])"
    )
    assert style == ["700", "underline", "rgb(0, 0, 0)"]
    assert not opened.tab.locator("#controls").is_visible()
    folded = opened.tab.locator(".finding").first
    assert folded.evaluate("finding => finding.getBoundingClientRect().height") > 50
    assert opened.tab.pdf(format="A4").startswith(b"%PDF-")


def test_text_of_strangers_runs_nothing(browser: Browser, page: VettingPage, tmp_path: Path) -> None:
    attack = "</script><img src=x onerror=document.title='taken'><script>document.title='taken'</script>"
    corpus = msgspec.structs.replace(page.corpora[0], name=attack)
    path = tmp_path / "attack.html"
    write(msgspec.structs.replace(page, title=attack, corpora=(corpus,)), path)
    with browser.new_context() as context:
        seen = Opened(context, path)
        assert seen.tab.title().startswith("</script>")
        assert seen.tab.locator("h1").inner_text() == attack
        assert (seen.complaints, seen.asked) == ([], [path.as_uri()])
