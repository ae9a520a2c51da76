"""Items, corpora and vettings made small, of real parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from lacre.registry.items import Candidate, Passage, Payload
from lacre.registry.rules import VettingRules, default_rules
from lacre.registry.verdicts import Verdict
from lacre.vetting.progress import Progress
from lacre.vetting.vet import Vetting
from lacre.vetting.vet import vet as vetted

RULES = default_rules().vetting

STEM = (
    "Depois da enchente, o padeiro da vila mediu a altura da água no forno com um cabo de vassoura e anotou "
    "trinta e sete centímetros no caderno. Que parte do forno ficou seca?"
)
OPTIONS = {
    "A": "A boca de ferro fundido.",
    "B": "A chaminé de tijolos refratários.",
    "C": "O cinzeiro de baixo.",
}
LAW = (
    "Art. 205. A educação, direito de todos e dever do Estado e da família, será promovida e incentivada "
    "com a colaboração da sociedade."
)
FILLER = "Na quinta-feira o vento virou para o sul e ninguém mais falou do assunto até a festa do padroeiro. "
# Nine words of the stem in a text about something else.
NINE = "o padeiro da vila mediu a altura da água"


def choice(id: str = "q1", stem: str = STEM, key: str | None = "B") -> Candidate:
    """A choice item that leaks nowhere."""
    return Candidate(id=id, payload=Payload(kind="choice", stem=stem, options=OPTIONS, key=key))


def quoting(source: str | None = "Constituição Federal, art. 205", stem: str = STEM) -> Candidate:
    """An open item that quotes the law, declared or not."""
    return Candidate(
        id="q1", payload=Payload(kind="open", stem=stem, passage=Passage(text=LAW, source=source))
    )


def folder(root: Path, **texts: str | bytes) -> str:
    """A folder of corpora: each text in a file of its name, ``_txt`` and the like being the ending."""
    root.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        stem, _, ending = name.rpartition("_")
        content = text if isinstance(text, bytes) else text.encode()
        (root / f"{stem}.{ending}").write_bytes(content)
    return str(root)


def vet(
    items: Sequence[Candidate],
    *sources: str,
    rules: VettingRules = RULES,
    workers: int = 2,
    phrases: Sequence[str] = (),
    apart: Sequence[Path] = (),
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Vetting:
    """A vetting on threads of its own."""
    with ThreadPoolExecutor(workers) as executor:
        return vetted(
            items, sources, rules, executor=executor, phrases=phrases, apart=apart, on_progress=on_progress
        )


def verdict(vetting: Vetting, item: str = "q1") -> Verdict:
    """The verdict of one item."""
    return next(verdict for verdict in vetting.verdicts if verdict.item == item)


def ruled(**changes: float) -> VettingRules:
    """The shared rules with some changed."""
    return msgspec.structs.replace(RULES, **changes)
