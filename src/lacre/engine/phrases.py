"""Words with which a column refuses, or says that it does not know: Portuguese first, English too (SPEC L10).

Looked for only where no letter is asserted. A refusal is a matter of policy; whoever cannot see the figure, or
misses a datum, abstains. All patterns run on text without accents, in lower case.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lacre.engine.readable import Readable, sentences
from lacre.scoring.outcomes import Outcome

_DO = (
    r"(?:ajudar|ajuda-l[oa]|opinar|responder|responde-l[oa]|fornecer|atender|auxiliar|discutir|participar|continuar|cumprir|emitir"
    r"|dar|oferecer|comentar|prosseguir|realizar|gerar|criar|apoiar|tomar\s+partido|expressar|recomendar|fazer\s+isso|falar)"
)
_ENGLISH_DO = (
    r"(?:help|assist|answer|provide|respond|comply|discuss|fulfill|engage|continue|support|offer|share|give|express"
    r"|create|generate|participate|promote)"
)
_REFUSALS = re.compile(
    rf"\bnao\s+(?:posso|poderei|devo|vou|me\s+e\s+permitido|estou\s+autorizad[oa]\s+a|tenho\s+permissao\s+para)\s+(?:\w+\s+){{0,2}}?{_DO}\b"
    rf"|\bnao\s+(?:sou|e)\s+capaz\s+de\s+(?:opinar|emitir)\b|\bnao\s+(?:tenho|emito|possuo|expresso)\s+(?:uma\s+)?opini\w+"
    r"|\b(?:recuso-me|me\s+recuso|prefiro\s+nao\s+(?:opinar|comentar|discutir|falar))\b"
    r"|\b(?:viola|contraria|fere|infringe|vai\s+contra)\s+(?:as\s+|a\s+)?(?:minhas?|nossas?)\s+(?:\w+\s+)?"
    r"(?:diretrizes|politicas?|normas|regras)\b"
    r"|\b(?:viola|contraria|vai\s+contra)\s+(?:as\s+|a\s+)?(?:diretrizes|politicas?)\s+(?:de|do)\s+"
    r"(?:uso|conteudo|seguranca|servico)\b"
    rf"|\b(?:i\s+)?(?:cannot|can't|can’t|can\s+not|won't|will\s+not|am\s+not\s+able\s+to|i'm\s+not\s+able\s+to|unable\s+to)\s+(?:\w+\s+){{0,2}}?{_ENGLISH_DO}\b"
    r"|\bagainst\s+(?:my|the|our)\s+(?:\w+\s+)?(?:policy|policies|guidelines)\b|\bi\s+must\s+decline\b"
)
_LACK = (
    r"(?:inform\w+|dados?|contexto|imagem|imagens|figura|grafico|tabela|texto|enunciado|mapa|charge|valor(?:es)?|alternativas|conteudo"
    r"|information|data|context|image|picture|figure|graph|table|text|detail\w*)"
)
_LACKING = re.compile(
    rf"\b(?:no|nao\s+ha|nenhum\w*)\s+(?:\w+\s+){{0,2}}{_LACK}\b|\b(?:sem|falt\w+|insuficiente\w*|ausencia\s+de|without|missing|lack\w*|insufficient|not\s+enough|enough)\b[^.\n]{{0,60}}\b{_LACK}\b"
    rf"|\b{_LACK}\b[^.\n]{{0,40}}\b(?:insuficiente\w*|suficientes?|falt\w+|ausentes?|insufficient|missing)\b"
    rf"|\bnao\s+(?:\w+\s+){{0,3}}(?:ver|visualizar|acess\w+|acesso|enxergar)\b"
    rf"|\b(?:see|view|access)\s+(?:the\s+|any\s+)?(?:image|picture|figure|graph)"
)
_DECIDE = (
    r"(?:responder|determinar|identificar|definir|saber|resolver|calcular|dizer|escolher|decidir|inferir|precisar|indicar"
    r"|encontrar|avaliar|apontar|assinalar|visualizar|ver|analisar)"
)
_ABSTENTIONS = re.compile(
    r"\b(?:(?:eu\s+)?nao\s+(?:sei(?=\s*(?:[.,;:!…\n)]|$)|\s+(?:a\s+resposta|qual|responder|dizer|informar|mesmo|ao\s+certo|isso|essa|esta|nao|o\s+suficiente)\b)|faco\s+ideia|tenho\s+(?:certeza|ideia|como\s+(?:saber|responder|determinar)|"
    r"(?:informac\w+|dados|conhecimento|elementos|contexto)))"
    rf"|nao\s+(?:e|foi|seria|ha\s+como|ha\s+forma\s+de|da\s+para)\s*(?:possivel\s+)?{_DECIDE}"
    rf"|nao\s+(?:consigo|consegui|conseguiria|posso|sou\s+capaz\s+de)\s+(?:\w+mente\s+)?{_DECIDE}"
    rf"|(?:e\s+)?impossivel\s+{_DECIDE}"
    r"|nao\s+ha\s+(?:informac\w+|dados|contexto)(?:\s+suficientes?)?"
    r"|(?:faltam?|sao\s+insuficientes)\s+(?:as\s+|os\s+|o\s+|a\s+)?(?:informac\w+|dados|elementos|valor\w*|contexto|imagem|figura|grafico)"
    r"|(?:informac\w+|dados)\s+(?:sao\s+)?insuficientes"
    r"|(?:prefiro|opto\s+por)\s+nao\s+responder|sem\s+resposta|deixo\s+em\s+branco|abstenho-me|me\s+abstenho"
    r"|i\s+(?:do\s+not|don't|don’t)\s+(?:know(?!\s+(?:why|how|who|when|where|if|that)\b)|have\s+(?:enough|sufficient))|(?:i'm|i\s+am)\s+not\s+sure"
    r"|(?:it\s+is|it's|it’s)\s+(?:not\s+possible|impossible)\s+to\s+(?:answer|determine|identify|tell|solve|calculate)"
    r"|(?:(?:i|we|it)\s+)?(?:am\s+)?(?:cannot|can't|can’t|can\s+not|could\s+not|unable\s+to)\s+(?:be\s+)?(?:answer\w*|determin\w+|identif\w+|see|view|tell|solve\w*|calculat\w+)"
    r"|(?:not\s+enough|insufficient)\s+(?:information|data|context))\b"
)
PREMISE = re.compile(
    r"\b(?:assumptions?|assumes?|inaccura\w+|flawed|incorrect\s+(?:premise|information)|premissas?|pressup\w+|suposic\w+"
    r"|(?:erro|equivoco|inconsistencia|contradicao)\s+n[ao]\s+(?:enunciado|questao|pergunta)"
    r"|(?:enunciado|questao|pergunta)\s+(?:\w+\s+){0,2}(?:contem|tem|apresenta)\s+(?:um\s+|uma\s+)?(?:erro|equivoco|inconsistencia))\b"
)
"""Words of a reply that doubts the question itself: whether rightly is for the judges."""

# What may stand before the words and leave them what they are.
_BEFORE = re.compile(
    r"^[^\w]*(?:(?:infelizmente|desculpe?|lamento|sinto\s+muito|portanto|logo|assim|mas|entao|eu|resposta|como|com|sem|diante|dado"
    r"|pel[ao]s?|a\s+partir|considerando|na\s+ausencia|visto|devido|nessas|dess[ae]|sinceramente|honestamente|unfortunately|sorry|"
    r"i'm\s+sorry|i\s+apologize|apologies|so|therefore|without|based|given|as|because|since|however|porem|contudo|no\s+entanto|"
    r"nao|a\s+resposta|resposta\s+correta|para\s+est[ae])\b.*)?$"
)


class Phrase(NamedTuple):
    """Words that say why there is no answer: their class and place in the readable text."""

    outcome: Outcome
    rule: str
    start: int
    end: int


AN_ATTEMPT = 80
"""Words from which an open-ended reply is an attempt, whatever phrases it holds: "não é possível ..." is law too."""


def phrase(read: Readable, *, open_ended: bool = False) -> Phrase | None:
    """The refusal or abstention that a reply without a letter states, none when it states neither.

    A refusal counts anywhere; an abstention in the first or last sentence, for in between it is an argument
    ("não é possível determinar o sinal, mas ..."). Words in quotation marks are somebody else's. A long
    open-ended reply refuses in its first sentence or not at all, and does not abstain.

    >>> from lacre.engine.readable import readable
    >>> phrase(readable("Desculpe, mas não posso ajudar com isso.")).outcome.letter
    'R'
    >>> phrase(readable("Não é possível responder: falta o valor de R2.")).outcome.letter
    'A'
    """
    spans = sentences(read.text)
    if not spans:
        return None
    attempt = open_ended and len(read.text.split()) >= AN_ATTEMPT
    for place, (start, end) in enumerate(spans[:1] if attempt else spans):
        sentence = read.plain[start:end]
        match = _REFUSALS.search(sentence)
        # "There is no context. Therefore, I cannot provide an answer" misses something, and refuses nothing.
        lacking = _LACKING.search(read.plain[spans[max(0, place - 1)][0] : end]) if match else None
        if match and not _quoted(sentence, match.start()) and not lacking:
            return Phrase(Outcome.REFUSAL, "refusal", start + match.start(), start + match.end())
    for start, end in () if attempt else dict.fromkeys((spans[0], spans[-1])):
        sentence = read.plain[start:end]
        match = _ABSTENTIONS.search(sentence)
        if match is None or _quoted(sentence, match.start()):
            continue
        if _BEFORE.match(sentence[: match.start()]):
            return Phrase(Outcome.ABSTENTION, "abstention", start + match.start(), start + match.end())
    return None


def _quoted(sentence: str, at: int) -> bool:
    """Whether a place stands in quotation marks."""
    before = sentence[:at]
    return (
        before.count('"') % 2 == 1
        or before.count("“") > before.count("”")
        or before.count("«") > before.count("»")
    )
