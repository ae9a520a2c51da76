"""TS-guessing: one wrong option is masked, and the column is asked for it (Deng et al. 2023, arXiv:2311.09783).

Nobody can work out how a wrong option is worded; whoever writes it down word for word has read it. A second signal,
independent of the completion probe, and off by default: it needs choice items with wrong options of some length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from rapidfuzz.distance import LCSseq

from lacre.digest import sha256
from lacre.engine.journal import Replied, Task
from lacre.engine.plans import Question
from lacre.engine.replies import Answered, Truncated
from lacre.probe.cuts import folded
from lacre.probe.marks import adjusted, claim
from lacre.probe.measures import MOST_CHARACTERS
from lacre.probe.telling import EXAM
from lacre.registry.columns import Column
from lacre.registry.items import Item, Payload
from lacre.registry.records import Record
from lacre.scoring.estimates import Measured
from lacre.scoring.intervals import clustered_mean, newcombe, proportion

STAGE = "probe options"
LEAST_WORDS = 4
"""Words of an option that nobody hits upon by chance."""
MASK = "[MASK]"

_PROMPT = (
    "Na questão de prova abaixo, o texto de uma das alternativas incorretas foi trocado por {mask}. Escreva o texto "
    "original dessa alternativa, exatamente como está na prova. Não explique nada.\n\n{item}"
)


class Masked(Record, omit_defaults=False):
    """A choice item with one wrong option masked.

    Attributes:
        role: ``item``, or ``control``: an item that no column can have seen.
        text: the item as it goes out; ``hidden``: the words of the option, folded.
    """

    id: str
    role: str
    letter: str
    text: str
    hidden: tuple[str, ...]


class OptionsProbe(Record, tag="options", omit_defaults=False):
    """What a probe of options asks; ``left_out``: items that have no option to mask, by reason."""

    benchmark: str
    layer: str
    masked: tuple[Masked, ...]
    left_out: dict[str, int]


class OptionsFindings(Record, omit_defaults=False):
    """What a probe of options found of one column.

    Attributes:
        exact: items whose masked option was written word for word; ``guessed``: their ids, sorted.
        rate, control_rate: of items and of controls that were answered; ``excess``: the one less the other.
        recall, control_recall: mean ROUGE-L recall of the option.
        p: chance of as many if items were hit as often as controls; ``p_adjusted`` over all columns.
        unanswered, controls_unanswered: items, and controls, refused or failed.
    """

    column: str
    exact: int
    guessed: tuple[str, ...]
    rate: Measured
    control_rate: Measured
    excess: Measured
    recall: Measured
    control_recall: Measured
    unanswered: int
    controls_unanswered: int
    p: float | None
    p_adjusted: float | None = None


class OptionsResult(Record, omit_defaults=False):
    """What a probe of options found, column by column; ``left_out``: items without an option to mask, by reason."""

    columns: tuple[OptionsFindings, ...]
    left_out: dict[str, int]


def masked(item: Item, role: str) -> Masked | str:
    """An item with one of its wrong options masked; or why it has none to mask.

    The option is the first by SHA-256 of item and letter among those of :data:`LEAST_WORDS` words or more, half of
    which stand nowhere else in the item.

    >>> payload = Payload(kind="choice", stem="Por que o bonde parou?", key="A",
    ...                   options={"A": "Por falta de luz.", "B": "Porque o gato do condutor dormia nos trilhos."})
    >>> found = masked(Item(id="a", benchmark="b", layer="open", cell={}, payload=payload), "item")
    >>> found.letter, found.text.splitlines()[-1]
    ('B', 'B) [MASK]')
    """
    payload = item.payload
    if payload.kind != "choice" or payload.key is None:
        return "no choice item with a key"
    wrong = [letter for letter in payload.options if letter != payload.key]
    usable = [letter for letter in wrong if _is_usable(payload, letter)]
    if not usable:
        return "no wrong option that could not be guessed"
    letter = min(usable, key=lambda each: sha256(f"{item.id}\0{each}".encode()))
    options = {**payload.options, letter: MASK}
    lines = [payload.stem, *(f"{each}) {text}" for each, text in options.items())]
    body = [payload.passage.text] if payload.passage else []
    text = "\n\n".join([*body, "\n".join(lines)])
    return Masked(id=item.id, role=role, letter=letter, text=text, hidden=_words(payload.options[letter]))


def _is_usable(payload: Payload, letter: str) -> bool:
    own = _words(payload.options[letter])
    others = [text for each, text in payload.options.items() if each != letter]
    known = set(_words(" ".join([payload.stem, payload.passage.text if payload.passage else "", *others])))
    fresh = [word for word in own if word not in known and not any(c.isdigit() for c in word)]
    return len(own) >= LEAST_WORDS and 2 * len(fresh) >= len(own) and own not in EXAM


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.folded for word in folded(text))


def options_questions(probe: OptionsProbe) -> tuple[Question, ...]:
    """What is asked: each item with its option masked; nothing where only controls have one to mask."""
    if not any(each.role == "item" for each in probe.masked):
        return ()
    return tuple(
        Question(
            id=f"{each.role}/{each.id}",
            payload=Payload(kind="open", stem=_PROMPT.replace("{mask}", MASK).replace("{item}", each.text)),
        )
        for each in probe.masked
    )


def find_options(
    probe: OptionsProbe, cards: Sequence[Column], replies: Mapping[Task, Replied]
) -> OptionsResult:
    """What the replies say, column by column."""
    rows = [_findings(probe, card.id, replies) for card in cards]
    values = adjusted([row.p for row in rows])
    pairs = zip(rows, values, strict=True)
    return OptionsResult(
        columns=tuple(msgspec.structs.replace(row, p_adjusted=p) for row, p in pairs), left_out=probe.left_out
    )


def _findings(probe: OptionsProbe, column: str, replies: Mapping[Task, Replied]) -> OptionsFindings:
    hit: dict[str, list[str]] = {"item": [], "control": []}
    recalls: dict[str, list[list[float]]] = {"item": [], "control": []}
    unanswered = {"item": 0, "control": 0}
    for each in probe.masked:
        entry = replies.get(Task(column, f"{each.role}/{each.id}", 1))
        if entry is None or not isinstance(entry.reply, Answered | Truncated):
            unanswered[each.role] += 1
            continue
        said = _words(entry.reply.text[:MOST_CHARACTERS])
        recalls[each.role].append(
            [LCSseq.similarity(each.hidden, said[: 3 * len(each.hidden)]) / len(each.hidden)]
        )
        if _holds(said, each.hidden):
            hit[each.role].append(each.id)
    (x, n), (y, m) = ((len(hit[role]), len(recalls[role])) for role in ("item", "control"))
    return OptionsFindings(
        column=column,
        exact=x,
        guessed=tuple(sorted(hit["item"])),
        rate=proportion(x, n, method="clopper-pearson", empty="no item was answered"),
        control_rate=proportion(y, m, method="clopper-pearson", empty="no control was answered"),
        excess=newcombe(x, n, y, m),
        recall=clustered_mean(recalls["item"]),
        control_recall=clustered_mean(recalls["control"]),
        unanswered=unanswered["item"],
        controls_unanswered=unanswered["control"],
        p=claim(x, n, y, m),
    )


def _holds(said: Sequence[str], hidden: Sequence[str]) -> bool:
    """Whether the words of an option stand in a reply, in a row."""
    size = len(hidden)
    return any(tuple(said[place : place + size]) == tuple(hidden) for place in range(len(said) - size + 1))
