"""The words of the page in Portuguese and English, and its numbers, which both languages read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from markupsafe import Markup

from lacre.registry.verdicts import Channel, Class, Decision, Finding
from lacre.report.page import Evidence, ItemRow, Thresholds

Pair = tuple[str, str]

# In the order of precedence of the verdicts (SPEC L7), which is also the order of the page.
VERDICTS: dict[Decision, Pair] = {
    "drop": ("descartar", "drop"),
    "unknown": ("sem veredito", "unknown"),
    "review": ("revisar", "review"),
    "untestable": ("não testável", "untestable"),
    "keep": ("manter", "keep"),
}
CLASSES: dict[Class, Pair] = {
    "copy": ("cópia", "copy"),
    "name": ("nome", "name"),
    "statute": ("texto de lei", "statute"),
    "quotation": ("citação", "quotation"),
    "boilerplate": ("linguagem de prova", "boilerplate"),
}
CHANNELS: dict[Channel, Pair] = {
    "exact": ("exata, com os acentos", "exact, accents agree"),
    "folded": ("sem contar os acentos", "accents set aside"),
}
FIELDS: dict[str, Pair] = {
    "passage": ("texto de apoio", "passage"),
    "stem": ("enunciado", "stem"),
    "option": ("alternativa", "option"),
    "key": ("gabarito", "key"),
    "criterion": ("critério", "criterion"),
    "part": ("parte", "part"),
    "expected": ("resposta esperada", "expected answer"),
}


def _visible() -> dict[int, str]:
    """C0 controls as their pictures, C1 controls and lone surrogates as U+FFFD; form feeds end a line."""
    pictures = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}
    breaks = dict.fromkeys((0x0A, 0x0B, 0x0C, 0x0D), "\n") | {0x09: "\t"}
    return pictures | breaks | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], "\ufffd")


_VISIBLE = _visible()


def clean(text: str) -> str:
    """The same text without characters that HTML or UTF-8 cannot carry; line ends become LF.

    >>> clean("a\\x00b\\r\\nc")
    'a␀b\\nc'
    """
    return text.replace("\r\n", "\n").translate(_VISIBLE)


@lru_cache(maxsize=4096)
def both(pt: str, en: str) -> Markup:
    """Both wordings, each with its language, of which the page shows one; one plain text when they agree.

    >>> both("corpus", "corpus")
    Markup('corpus')
    """
    if pt == en:
        return Markup("{}").format(clean(pt))
    return Markup('<span class="p">{}</span><span class="e" lang="en">{}</span>').format(clean(pt), clean(en))


def grouped(number: int) -> str:
    """A whole number in groups of three, parted by a narrow no-break space (SI brochure, 5.4.4).

    >>> grouped(1234567).replace("\\u202f", "_")
    '1_234_567'
    """
    return f"{number:,}".replace(",", "\u202f")


def percent(share: float) -> str:
    """A share in whole per cent, cut and never rounded up: 100% is all of it, 0% is none.

    >>> percent(0.999), percent(0.004), percent(0.0), percent(1.0)
    ('99%', '<1%', '0%', '100%')
    """
    # The decimal that was written, not its nearest binary neighbour: 0.29 is 29%, not 28%.
    whole = int(Fraction(repr(float(share))) * 100)
    return "<1%" if whole == 0 and share > 0 else f"{whole}%"


def exact_percent(share: float) -> Pair:
    """A threshold in per cent with all its digits, decimal comma and decimal point.

    >>> exact_percent(0.001), exact_percent(0.9)
    (('0,1%', '0.1%'), ('90%', '90%'))
    """
    text = f"{float(Fraction(repr(float(share))) * 100):.6f}".rstrip("0").rstrip(".") + "%"
    return text.replace(".", ","), text


def size(count: int) -> Pair:
    """Bytes, rounded, in the largest decimal unit that leaves a figure of at least 1.

    >>> size(999), size(8_499_358), size(999_960)
    (('999\\xa0bytes', '999\\xa0bytes'), ('8,5\\xa0MB', '8.5\\xa0MB'), ('1,0\\xa0MB', '1.0\\xa0MB'))
    """
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        scale = 1000**power
        if count >= 0.99995 * scale:
            text = f"{count / scale:.1f}\xa0{unit}"
            return text.replace(".", ","), text
    text = f"{count}\xa0byte" if count == 1 else f"{count}\xa0bytes"
    return text, text


def counted(number: int, one: Pair, many: Pair) -> Pair:
    """A number with its noun in both languages; only 1 is singular.

    >>> counted(1, ("item", "item"), ("itens", "items"))
    ('1 item', '1 item')
    """
    noun = one if number == 1 else many
    return f"{grouped(number)} {noun[0]}", f"{grouped(number)} {noun[1]}"


def items(number: int) -> Pair:
    """So many items."""
    return counted(number, ("item", "item"), ("itens", "items"))


def findings(number: int) -> Pair:
    """So many findings."""
    return counted(number, ("achado", "finding"), ("achados", "findings"))


def field_label(name: str, label: str = "") -> Pair:
    """What a field is called; its own ``label``, or its name, when it is none that a finding names.

    >>> field_label("option:A"), field_label("chart", "Gráfico")
    (('alternativa A', 'option A'), ('Gráfico', 'Gráfico'))
    """
    kind, _, letter = name.partition(":")
    if kind not in FIELDS:
        return label or name, label or name
    pt, en = FIELDS[kind]
    return f"{pt} {letter}".strip(), f"{en} {letter}".strip()


def fields_label(names: Sequence[str]) -> Pair:
    """What a finding covers, each kind of field once with its letters.

    >>> fields_label(["stem", "option:A", "option:C"])
    ('enunciado, alternativa A C', 'stem, option A C')
    """
    letters: dict[str, list[str]] = {}
    for name in names:
        kind, _, letter = name.partition(":")
        letters.setdefault(kind, []).append(letter)
    both_ = [field_label(f"{kind}:{' '.join(known)}".rstrip(": ")) for kind, known in letters.items()]
    return ", ".join(pt for pt, _ in both_), ", ".join(en for _, en in both_)


def headline(finding: Finding) -> Pair:
    """What a finding is, in a few words.

    A run says how many words it has, the rarest sentence how well it agrees.
    """
    if finding.check == "rare_sentence":
        share = percent(finding.score)
        return (
            f"Frase mais rara, {share} igual ({grouped(finding.words)} palavras)",
            f"Rarest sentence, {share} alike ({grouped(finding.words)} words)",
        )
    if finding.words == 1:
        return "1 palavra igual", "1 word in common"
    return (
        f"{grouped(finding.words)} palavras seguidas iguais",
        f"{grouped(finding.words)} words in a row in common",
    )


def caption(finding: Finding) -> Pair:
    """What else a finding says, in one line: fields, words, coverage, channel, class, documents, bytes."""
    fields = [field_label(name) for name in finding.fields]
    words = counted(finding.words, ("palavra", "word"), ("palavras", "words"))
    documents = counted(finding.documents, ("documento", "document"), ("documentos", "documents"))
    share = percent(finding.coverage)
    channel, kind = CHANNELS[finding.channel], CLASSES[finding.class_]
    start, end = (grouped(place) for place in finding.bytes)
    pt = (
        ", ".join(label for label, _ in fields),
        words[0],
        f"cobre {share} do item",
        f"coincidência {channel[0]}",
        f"classe: {kind[0]}",
        f"em {documents[0]} deste corpus",
        f"bytes {start} a {end}",
    )
    en = (
        ", ".join(label for _, label in fields),
        words[1],
        f"covers {share} of the item",
        channel[1],
        f"class: {kind[1]}",
        f"in {documents[1]} of this corpus",
        f"bytes {start} to {end}",
    )
    return " · ".join(pt), " · ".join(en)


def reason(row: ItemRow, deciding: Evidence | None, rules: Thresholds) -> Pair:
    """The deciding reason in both languages: as the verdict gives it, else in the page's own words."""
    pt, en = _reason(row.verdict.verdict, deciding, rules)
    given = row.verdict.reasons[0] if row.verdict.reasons else en
    if deciding is None and row.verdict.verdict in ("drop", "review"):
        pt = given  # English beats silence: only the verdict knows why.
    return (row.reasons_pt[0] if row.reasons_pt else pt), given


def _reason(decision: Decision, deciding: Evidence | None, rules: Thresholds) -> Pair:
    match decision:
        case "keep":
            if deciding is not None and deciding.waived:
                pt, en = headline(deciding.finding)
                return f"{pt}, dispensado por quem responde por isso.", f"{en}, waived by who answers for it."
            return (
                "Nada que pese foi achado no que se leu.",
                "Nothing that counts was found in what was read.",
            )
        case "untestable":
            return (
                "Curto demais para a comparação provar algo.",
                "Too short for a comparison to prove anything.",
            )
        case "unknown":
            return (
                "Um corpus não foi lido o bastante para dar um veredito.",
                "A corpus was not read far enough for a verdict.",
            )
        case "drop" | "review":
            if deciding is None:
                return "Motivo não informado.", "No reason was given."
            return _matched(deciding, rules)


def _matched(evidence: Evidence, rules: Thresholds) -> Pair:
    finding = evidence.finding
    pt, en = headline(finding)
    kind = CLASSES[finding.class_]
    pt, en = f"{pt}, classe: {kind[0]}", f"{en}, class: {kind[1]}"
    if finding.check == "overlap" and finding.words < rules.n:
        return f"{pt}, menos que {rules.n}.", f"{en}, fewer than {rules.n}."
    if finding.check == "overlap" and evidence.weight == "review":
        return (
            f"{pt}, em parte fora das palavras próprias do item.",
            f"{en}, in part not the item's own words.",
        )
    return f"{pt}.", f"{en}."
