"""Text with its matched words marked, as safe HTML."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

from lacre.report.words import both, clean, grouped

# An unmarked stretch longer than LONG keeps EDGE characters next to a mark; what is cut is counted.
LONG = 700
EDGE = 260

_OPEN = Markup("<mark>")
_CLOSE = Markup("</mark>")
_EMPTY = Markup("")


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans sorted, those that overlap or touch joined.

    >>> merged([(4, 6), (0, 2), (1, 3), (6, 9)])
    [(0, 3), (4, 9)]
    """
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def marked(text: str, spans: Iterable[tuple[int, int]]) -> Markup:
    """``text`` escaped, the characters of ``spans`` inside ``<mark>``.

    Long unmarked stretches are cut, and the cut says how many characters it left out.

    >>> marked("a <b> c", [(2, 5)])
    Markup('a <mark>&lt;b&gt;</mark> c')
    """
    parts: list[Markup] = []
    at = 0
    for start, end in merged(spans):
        parts += [
            _plain(text[at:start], left=at > 0, right=True),
            _OPEN,
            escape(clean(text[start:end])),
            _CLOSE,
        ]
        at = end
    parts.append(_plain(text[at:], left=at > 0, right=False))
    return _EMPTY.join(parts)


def _plain(text: str, *, left: bool, right: bool) -> Markup:
    """An unmarked stretch; ``left`` and ``right`` say where a mark stands, so that its neighbours stay."""
    if len(text) <= LONG:
        return escape(clean(text))
    head = EDGE if left or not right else 0
    tail = EDGE if right else 0
    omitted = grouped(len(text) - head - tail)
    note = both(f"[… {omitted} caracteres …]", f"[… {omitted} characters …]")
    return _EMPTY.join(
        (
            escape(clean(text[:head])),
            Markup('<span class="cut">'),
            note,
            Markup("</span>"),
            escape(clean(text[len(text) - tail :])),
        )
    )
