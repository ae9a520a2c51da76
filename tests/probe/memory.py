"""A column that memorises: it holds some texts, as they are or nearly so, and invents the rest of all others.

What it invents is fluent and on the subject: whole sentences of other texts, those that share most words with the
beginning. What it holds comes back word for word, nearly (a greeting before it, decomposed accents, cut short, a word
in nine changed), or paraphrased.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.engine.server import Act, Say, Seen

from lacre.text import sentences, words

Manner = Literal[
    "verbatim", "greeting", "decomposed", "cut short", "edited", "echoed", "marked up", "paraphrased"
]
NEAR: tuple[Manner, ...] = ("greeting", "decomposed", "cut short", "edited", "echoed", "marked up")
"""Nearly verbatim."""

_GREETINGS = (
    "Claro! Aqui está a continuação da questão:\n\n",
    "Com certeza. Segue o restante do enunciado, como está na prova:\n\n",
    "**Continuação:**\n\n",
)
# Words that mean about the same: enough of them that few runs of four words survive.
_SYNONYMS = {
    "que": "o qual", "para": "a fim de", "com": "junto de", "uma": "certa", "um": "certo", "do": "daquele",
    "da": "daquela", "de": "vindo de", "os": "aqueles", "as": "aquelas", "em": "dentro de", "por": "através de",
    "não": "jamais", "são": "constituem", "é": "constitui", "mais": "sobretudo", "pode": "consegue", "seu": "o próprio",
    "sua": "a própria", "ao": "àquele", "como": "tal qual", "se": "caso", "no": "naquele", "na": "naquela",
    "dos": "daqueles", "das": "daquelas", "foi": "acabou sendo", "ser": "tornar-se", "e": "bem como", "o": "esse",
    "a": "essa",
}  # fmt: skip


@dataclass
class Memory:
    """What a column holds, and what it makes up.

    Attributes:
        held: texts, and how each comes back.
        prose: texts whose sentences it recombines.
    """

    held: Mapping[str, Manner]
    prose: Sequence[str]
    seed: int = 0
    _starts: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for text in self.held:
            self._starts.setdefault(_start(text), []).append(text)
        self._sentences = [
            (frozenset(word.folded for word in words(text[a:b]) if len(word.folded) > 3), text[a:b], text)
            for text in self.prose
            for a, b in sentences(text)
            if 30 < b - a < 400
        ]
        self._places: dict[str, list[int]] = {}
        for place, (said, _, _) in enumerate(self._sentences):
            for word in said:
                self._places.setdefault(word, []).append(place)

    def __call__(self, seen: Seen) -> Act:
        """The script of a server."""
        return Say(text=self.reply(seen.text))

    def reply(self, prompt: str) -> str:
        """What the column says to a prompt that ends with the beginning of a text."""
        for start, texts in self._starts.items():
            at = prompt.find(start)
            if at < 0:
                continue
            beginning = prompt[at:]
            for text in texts:
                if text.startswith(beginning):
                    return self._recalled(text, len(beginning), self.held[text])
        return self._invented(prompt)

    def _recalled(self, text: str, cut: int, manner: Manner) -> str:
        rest = text[cut:].strip()
        rng = random.Random(f"{self.seed} {text[:80]} {cut}")
        match manner:
            case "verbatim":
                return rest
            case "greeting":
                return rng.choice(_GREETINGS) + rest
            case "decomposed":
                return unicodedata.normalize("NFD", rest)
            case "cut short":
                said = rest.split()
                return " ".join(said[: max(14, len(said) // 3)])
            case "edited":
                return " ".join(
                    rng.choice(("isso", "então", "algo")) if place % 9 == 8 else word
                    for place, word in enumerate(rest.split())
                )
            case "echoed":
                return text[:cut] + " " + rest
            case "marked up":
                return re.sub(r"(?m)^([A-E])\) ", r"- **\1.** ", rest) + "\n\n**Fim da questão.**"
            case "paraphrased":
                return _paraphrased(rest, rng)

    def _invented(self, prompt: str) -> str:
        """Sentences on the subject, from texts that are not the one asked for."""
        own = frozenset(word.folded for word in words(prompt[-600:]) if len(word.folded) > 3)
        votes = Counter(place for word in own for place in self._places.get(word, ())[:400])
        rng = random.Random(f"{self.seed} {prompt[-80:]}")
        told: list[str] = []
        tail = prompt[-60:].strip()
        for place, _ in votes.most_common(60):
            _, sentence, text = self._sentences[place]
            if tail in text or any(sentence in other for other in told) or sentence in prompt:
                continue
            told.append(sentence)
            if len(told) == 7:
                break
        rng.shuffle(told)
        return " ".join(told) or "O texto segue com outra questão sobre o mesmo tema."


def _start(text: str) -> str:
    """The beginning by which a text is known; every prompt about it holds it."""
    return text[: max(20, len(text) // 4)]


def _paraphrased(rest: str, rng: random.Random) -> str:
    """The same in other words: common words exchanged, clauses turned round."""
    clauses = re.split(r"(?<=[,;:.])\s+", rest)
    turned = [b for pair in zip(clauses[1::2], clauses[::2], strict=False) for b in pair]
    said = []
    for place, word in enumerate(" ".join(turned or clauses).split()):
        other = _SYNONYMS.get(word.lower())
        said.append(other or (word if place % 4 else f"{word} {rng.choice(('mesmo', 'também', 'enfim'))}"))
    return " ".join(said)
