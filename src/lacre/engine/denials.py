"""Words around a letter that deny it, doubt it, suppose it, put it into another's mouth, or take it back.

The rule knows no grammar, so these words count wherever they may govern the letter: a letter too many goes to the
judges rather than a wrong one to the score. All patterns run on text without accents, in lower case.
"""

from __future__ import annotations

import re

from lacre.engine.readable import Readable, sentences

# What sets the words after it apart from those before it: "não é a B, portanto ...".
_TURN = re.compile(
    r"\b(?:mas|porem|contudo|todavia|entretanto|portanto|logo|entao|assim|sim|sobra|resta|por\s+isso|dess[ae]\s+(?:forma|modo|maneira)"
    r"|but|however|therefore|thus|hence|so|then)\b|[;]"
)
_WHOM = r"(?:que|de\s+que|that|como|as)\s+(?:[oa]\s+|the\s+)?$"
_GOVERNS = re.compile(rf"\b{_WHOM}")
"""What lets a main clause govern the words after it, whatever stands between commas."""

_DOUBT = re.compile(
    r"\b(?:impossivel|improvavel|inviavel|implausivel|inconcebivel|inadmissivel|absurdo|bobagem|tolice|ingenu\w+"
    r"|duvid(?:o|amos|oso|osa|a-se|aria)|nego|negamos|neg(?:ar|ou|aria)|rejeit\w+|recus\w+|refut\w+|repudi\w+|contest\w+"
    r"|discord\w+|descart\w+|elimin\w+|desminto|fals[oa]s?|mentira|mito|erro|err(?:a|am|ou|aram|aria|oneo|onea)|errad[oa]s?"
    r"|equivoc\w+|engan\w+|incorret\w+|longe\s+de|ninguem|jamais|nunca|tampouco|hipotese\s+(?:alguma|nenhuma)"
    r"|(?:modo|forma|maneira|jeito)\s+(?:algum|alguma|nenhum|nenhuma)|nem\s+pensar|pegadinha|distrator\w*|armadilha|isca"
    r"|dificilmente|raramente|pouco\s+(?:provavel|plausivel)|(?:serias?|muitas|fortes|grandes)\s+duvidas|primeira\s+vista|aparentemente"
    r"|supostamente|negam?|oposto|contrario|lenda|consta|apparently|allegedly|by\s+no\s+means|first\s+(?:sight|glance)"
    r"|evit(?:e|o|ar|aria|em)|cuidado\s+com|quase"
    r"|imposible|dudo|falso|impossible|unlikely|improbable|implausible|doubt(?!less)\w*|deny|denies|denied|reject\w*|refus\w+|mistake\w*|wrong\w*"
    r"|incorrect\w*|false|nobody|no\s+one|no\s+way|never|hardly|far\s+from|disagree\w*|trap|distractor|avoid|nonsense"
    r"|(?:do|does|did|is|are|was|would|should|could|can|wo|can)n['’]?t|do\s+not|cannot)\b"
)
# "sem dúvida", "não há erro": the doubt itself is denied.
_NO_DOUBT = re.compile(
    r"\b(?:sem|nenhum\w*|without|no|beyond)\s+(?:(?:medo|risco|receio|chance|possibilidade)\s+de\s+)?$"
)
_NOT_THAT = re.compile(
    r"\b(?:nao|nem|not|n['’]t)\b(?P<between>(?!\s+(?:so|apenas|somente|only|just)\b)[^,.;:\n]{0,80}(?:,[^,.;:\n]{0,60},)?[^,.;:\n]{0,80}?)"
    rf"\b{_WHOM}"
)
# "que a resposta é B" says so only under a main clause that holds it true.
_EMBEDDED = re.compile(r"\b(?:que|that)\s+(?:[oa]\s+|the\s+)?$")
_HELD = re.compile(
    r"\b(?:ach(?:o|amos)|acredit(?:o|amos)|crei?o|cremos|pens(?:o|amos)|julg(?:o|amos)|consider(?:o|amos)|sei|sabemos|diria|digo|diz-se|concluo|conclui\w*"
    r"|concluir|deduz\w*|inf(?:ere|iro|erimos|erir)\w*|afirm(?:o|amos|ar|a-se)|dizer|v(?:ejo|emos|er|e-se)|observ\w+|not(?:a-se|amos|ar)|percebe\w*|verific\w+|entend\w+"
    r"|signific\w+|indica\w*|mostra\w*|confirm\w+|demonstr\w+|implica\w*|segue\w*|decorre|resulta|faz\s+com|leva\w*|suger\w+|parece|certeza|cert[oa]|clar[oa]"
    r"|convencid[oa]|segur[oa]|confiante|evidente|obvi[oa]|nitid[oa]|provavel|possivel|forma|modo|maneira|sorte|duvid\w+|visto|dado|sendo|uma\s+vez|ja|pois|seguinte"
    r"|think|believe|guess|know|conclude\w*|see|seems?|find|say|infer|means?|shows?|indicates?|suggests?|confirms?|implies|follows|sure|certain|confident|clear|evident"
    r"|likely|obvious|convinced|so)\b"
)
_SURE = re.compile(r"\b(?:duvid\w+|restam?|resta|doubt\w*|question|negar)\b")
_NEAR_BEFORE = re.compile(
    r"(?:\b(?:nao|nem|not|never|nunca|jamais|exceto|menos|except|rather\s+than|ao\s+contrario\s+d[aeo]|diferente\s+d[aeo]"
    r"|em\s+vez\s+d[aeo]|descart\w+|elimin\w+|exclu\w+)\b\s*(?:\w+\s+){0,3}[(\"“]*|(?:[≠¬❌✗✘🚫]|!=)\s*)$"
)
_AFTER = re.compile(
    r"^[.)\]\"”]*\s*,?\s*(?:[(\"“][^)\"”\n]{1,200}[)\"”]\s*,?\s*)?"
    r"(?:(?:que|a\s+qual|which|mas|porem|but)\s+)?(?:tambem\s+|also\s+|ela\s+|it\s+)?"
    r"(?:nao\b(?!\s+[ao]\s+(?:\w+\s+)?[a-z]\b)|(?:e|esta|seria|is|foi|fica|parece)\s+(?:claramente\s+|totalmente\s+|a\s+|uma\s+)?(?:(?:unica|resposta)\s+)?"
    r"(?:in(?:corret|adequad|consistent|valid)\w*|errad\w+|"
    r"fals\w+|absurd\w+|improvavel|impossivel|descart\w+|eliminad\w+|menos\b|not\b|wrong|incorrect|false)"
    r"|contraria|contradiz|confunde|erra\b|ignora|inverte"
    r"|does\s+not|is\s+not|isn't|doesn't|can\s+be\s+(?:eliminated|ruled))"
)
_AFTER_SIGN = re.compile(
    r"^[.)\]\"”]*\s*(?:\(\s*\?|\?|[❌✗✘🚫👎🤔]|[-–—]+\s*(?:not|nao|sqn)\b|[,.…\s]*(?:so\s+que\s+nao|#?sqn)\b)"
)
_AFTER_ASIDE = re.compile(
    r"^[)\]\"”]*\s*[(\[,–—-]\s*(?:ja\s+)?(?:eliminad|descartad|errad|incorret|fals|wrong|eliminated|incorrect|rejected|rascunho|provisori|tentativ|draft)\w*"
)
_REST = re.compile(
    r"^[^.;:\n]{0,60}?(?:,|\s[–—-])\s*(?:mas|porem|o\s+que|embora|but|which|though|que|e)\s[^.\n]{0,60}?"
    r"\b(?:errad\w+|incorret\w+|contest\w+|discord\w+|engan\w+|arrepend\w+|mud(?:o|ei)\s+de\s+ideia|duvid(?:o|amos)|errou|erraram|errei"
    r"|nao\s+(?:confio|acredito|concordo|creio)|wrong|incorrect|disagree|doubt|changed\s+my\s+mind)\b"
)
_PERSON = (
    r"(?:alun[oa]s?|professor(?:a|es)?|coleg[ao]s?|amig[ao]s?|vizinh[ao]s?|irma|irmao|pai|mae|estudantes?|candidat[ao]s?|usuari[ao]s?|banca"
    r"|menin[ao]|rapaz|moca|mestre|especialistas?|blog|site|forum|internet|cursinho|wikipedia|gabarito\s+(?:antigo|preliminar|extraoficial)"
    r"|student|teacher|colleague|neighbou?r|friend|brother|sister|user|classmate|someone|somebody|people|everyone|alguem|muitos|alguns|outros"
    r"|quem|whoever|some|others|many|avo|voces?|eles?|elas?|you|he|she|they)"
)
_REPORTED_AFTER = re.compile(
    r"^[.)\]\"”]*\s*,\s*(?:(?:segundo|conforme|de\s+acordo\s+com|according\s+to|(?:diz|disse|dizem|afirmam?)(?:\s+[oa]s?)?)\s+"
    rf"(?:[oa]s?\s+|the\s+)?(?:(?:meu|minha|seu|sua|um|uma|my)\s+)?(?:{_PERSON}|gabarito)\b|sem\s+confirmacao)"
)
_PARTLY = re.compile(
    r"^[)\]\"”]*\s*,?\s*(?:(?:mas\s+)?(?:apenas|so|somente)\s+)?(?:em\s+parte|parcialmente|em\s+outr[ao]s?|partly|in\s+part)\b"
)
_IF_AFTER = re.compile(
    r"^[.)\]\"”]*\s*(?:\([^)\n]{1,80}\)|[\"“][^\"”\n]{1,80}[\"”]|,[^,.\n]{1,60},)?\s*,?\s*(?:somente\s+|so\s+|apenas\s+|only\s+)?"
    r"(?:se|caso|if|unless|desde\s+que|contanto\s+que|a\s+menos\s+que|salvo\s+se|provided)\s"
)
_WOULD = re.compile(r"\b(?:seria|teria\s+sido|would)\b")
# "Em Pernambuco, a resposta seria C" tells of another world; "Com base nisso, ..." does not.
_WORLD = re.compile(
    r"^\W*(?:em|no|na|nos|nas|num|numa|com\s+mais|sem|in|with|without)\s+(?!(?:base|resumo|suma|sintese|conclusao|vista|conclusion|summary)\b)[^,]{1,60},"
)

_SUPPOSED = re.compile(
    r"(?:\b(?:se|caso|if|quando|talvez|perhaps|maybe|poderia|might|could|parece|would\s+not)\b[^.\n]{0,40}"
    r"|\b(?:nao|not)\s+(?:e\s+)?(?:corret[ao]\s+)?(?:diz\w*|afirm\w+|acho|creio|diria|concordo|acredito|verdade)\b[^.\n]{0,60}"
    r"|\b(?:para|por\s+que|porque|why)\s+(?:a\s+)?)$"
)
_SUPPOSING = re.compile(
    r"(?:^|[,:(]\s*|\b(?:e|que|mas|pois|portanto|entao|and|that|but|so)\s+)[\"“']?(?:se|if|caso|unless|(?:nao\s+)?(?:fosse|tivesse|estivesse)|had\s+the|were\s+the)\s"
    r"|\b(?:supo(?:ndo|nha|nhamos|r)|imagin(?:e|ando|emos|a)|admit(?:a|indo|amos)|assum(?:a|indo|amos|e|ing)|suppos(?:e|ing)|let's\s+say"
    r"|a\s+menos\s+que|salvo\s+se|na\s+hipotese\s+de|por\s+absurdo|digamos|caso\s+contrario|inicialmente|a\s+principio|initially|at\s+first)\b"
)
_SUPPOSED_TURN = re.compile(r"\b(?:mas|porem|contudo|entretanto|but|however)\b|;")

_SAID = re.compile(
    r"\b(?:diz|dizem|disse|disseram|dira|diria|afirma|afirmam|afirmou|alega|alegam|acha|acham|acredita|acreditam|jura|sustenta|defende|garante|responde|respondeu"
    r"|respondem|marcou|marcam|marca|escreveu|escolheu|escolhe|perguntou|perguntam|perguntam-me|said|says|say|claims?|claimed|thinks?|believes?|told|wrote|chose)"
    r"(?:\s+(?:que|that|se|if))?\s*:?\s*[\"“«']*\s*(?:[oa]\s+|the\s+)?$"
)
_BY_PERSON = re.compile(rf"\b{_PERSON}\b")
_EXAMPLE = re.compile(
    r"\b(?:exemplos?|example|formato|format|template|modelo|e\.g\.|ex\.)(?:\s+d[ae]\s+(?:resposta|formato|saida))?\s*[,:]?\s*[\"“«']*\s*$"
)


_QUOTE = re.compile(r"[\"“”«»]")
_OPENING = re.compile(r"[\s(:,—–-][\"“«][^\s.,;:)]")


def denied_before(before: str) -> bool:
    """Whether the words of a sentence before a letter's deny or doubt it, or lay it to somebody else.

    >>> denied_before("é impossivel que a "), denied_before("nao ha duvida de que a ")
    (True, False)
    """
    if _NEAR_BEFORE.search(before) or _SAID.search(before):
        return True
    turn = max((match.end() for match in _TURN.finditer(before)), default=0)
    words = before[turn:]
    for match in _DOUBT.finditer(words):
        if not _NO_DOUBT.search(words[: match.start()]) and _governs(words[match.end() :]):
            return True
    if any(_governs(words[match.end() :]) for match in _BY_PERSON.finditer(words)):
        return True
    if _EMBEDDED.search(words) and not _HELD.search(words):
        return True
    said = _NOT_THAT.search(words)
    return bool(said and not _SURE.search(said["between"]))


def _governs(rest: str) -> bool:
    """Whether words govern what follows the rest: no comma parts them, or the rest ends in "que"."""
    return "," not in rest.strip(" ,") or bool(_GOVERNS.search(rest))


_SUBJECT = re.compile(
    r"^[)\]\"”]*\s+(?!(?:pois|porque|ja|uma|visto|dado|because|since|as|e\s+nao|and\s+not)\b)\w"
)


def subject(before: str, after: str) -> bool:
    """Whether the clause that names the letter is itself what is spoken of: "dizer que a resposta é B é um erro".

    >>> subject("dizer que a ", " e um erro"), subject("acho que a ", ", pois"), subject("a ", " e um erro")
    (True, False, False)
    """
    return bool(_EMBEDDED.search(before) and _SUBJECT.match(after))


def denied_after(after: str) -> bool:
    """Whether the words after a letter deny it.

    >>> denied_after(" (descartada)"), denied_after(", que tambem nao serve"), denied_after(", pois sim")
    (True, True, False)
    """
    return any(
        pattern.match(after)
        for pattern in (_AFTER, _AFTER_SIGN, _AFTER_ASIDE, _REST, _REPORTED_AFTER, _PARTLY)
    )


def supposed(before: str, words: str, after: str) -> bool:
    """Whether a letter is that of a supposition: the sentence before it, the words that assert it, what follows.

    >>> supposed("se a capital fosse salvador, a ", "resposta seria a", ".")
    True
    >>> supposed("com base nisso, a ", "resposta seria a", ".")
    False
    """
    turn = max((match.end() for match in _SUPPOSED_TURN.finditer(before)), default=0)
    held = before[turn:]
    if _SUPPOSED.search(held) or _SUPPOSING.search(held) or _IF_AFTER.match(after):
        return True
    return bool(_WOULD.search(words + before[-20:]) and _WORLD.match(held))


def exemplary(read: Readable, start: int) -> bool:
    """Whether words are given as an example of an answer's form: "por exemplo, Resposta: C"."""
    return bool(_EXAMPLE.search(read.plain[max(0, start - 60) : start]))


def quoted(read: Readable, start: int, end: int) -> bool:
    """Whether words stand in quotation marks, and the reply says more than what is quoted."""
    first = max(read.text.rfind("\n", 0, start) + 1, start - 300)
    marks = list(_QUOTE.finditer(read.text, first, start))
    if not marks or not _OPENING.match(
        read.text[max(0, marks[-1].start() - 1) : marks[-1].end() + 1].rjust(3)
    ):
        return False
    ahead = read.text[end : end + 300]
    return bool(read.text[: marks[-1].start()].strip()) or bool(re.search(r"[\"”»][\s,.]*\w", ahead))


_BACK = re.compile(
    r"^[\W_]*(?:(?:mas|nao,|opa|ops|desculpe|na\s+verdade|pensando\s+(?:bem|melhor)|espere?|wait|actually|sorry|oops|no|but|e|eu)\b[\s,.!:…–—-]*){0,3}"
    r"(?:esque[cç]\w*|ignore\w*|desconsider\w+|retir(?:o|ei)|(?:hmm*\W+)?(?:acho\s+que\s+)?me\s+confundi|melhor\s+nao|(?:pode\s+)?riscar|cancel\w*|edit|errata|risqu(?:e|ei)|apagu?(?:e|ei)|brincadeira|brinco|mentira|errei|(?:me\s+)?enganei|me\s+equivoquei|me\s+arrependo"
    r"|mud(?:o|ei)\s+de\s+ideia|discordo|nao\s+concordo|conta\s+outra|so\s+que\s+nao|#?sqn|nao\s+(?:e|era)\s+(?:bem\s+)?(?:isso|essa|esta)"
    r"|nao\s+(?:sei|faco\s+ideia)(?!\s+(?:se|por|como|o\s+que))\b"
    r"|nao\s+(?:posso|vou|devo)\s+(?:\w+\s+)?(?:responder|ajudar|opinar|fornecer)"
    r"|never\s*mind|scratch|strike|(?:hmm*\W+)?(?:that|this|it)\s+(?:doesn't|does\s+not|can't|cannot)|forget|disregard|just\s+kidding|kidding|i\s+(?:disagree|was\s+wrong|don't\s+know|do\s+not\s+know|cannot|can't|made\s+a\s+mistake|changed)"
    r"|(?:that|this|it)(?:'s|\s+is|\s+was)\s+(?:wrong|incorrect|not)|conta\s+outra|no\s+dia\s+de\s+sao\s+nunca)\b"
)
_BACK_NEXT = re.compile(
    r"^[\W_]*(?:(?:ou\s+nao|or\s+not)\b|(?:nao|no)\s*(?:[,.!…?]|$)|(?:(?:pensando\s+(?:bem|melhor)|ops|opa|espere?|nao|wait|actually|no)\s*[,.!…]\s*)+"
    r"(?:(?:nao|no|errado|wrong|espere?|wait)\b|$)"
    r"|(?:(?:a\s+)?questao\s+)?(?:foi\s+)?anulad\w+"
    r"|(?:isso|isto|esta|essa|ela|eu)\s+(?:ai\s+)?(?:esta|e|estava|era)\s+(?:errad|incorret|fals)\w*|(?:e|it's|it\s+is)\s+(?:fals|errad|incorret|wrong)\w*|errado\b|wrong\b"
    r"|(?:vamos|vou|deixe-me|let\s+me|let's)\s+(?:verificar|conferir|testar|checar|ver\s+se|check|verify))"
)
_BACK_WORDS = re.compile(
    r"\b(?:brincadeira|mentira|sqn|so\s+que\s+nao|sao\s+nunca|conta\s+outra|vamos\s+(?:verificar|conferir|testar)|just\s+kidding)\b"
)
_AGAINST = re.compile(
    r"^[.)\]\"”]*\s*(?:nao\s+(?:e\b|esta|pode|serve|procede|responde|corresponde)|(?:e|esta|is)\s+(?:claramente\s+|totalmente\s+|a\s+)?"
    r"(?:incorret|errad|fals|descartad|eliminad|wrong|incorrect|false)\w*|is\s+not|isn't|cannot|can't|[^.;:,\n]{0,60}\bnao\s+e\s+a\s+(?:corret|cert|resposta))"
)


def taken_back(read: Readable, letter: str, end: int) -> bool:
    """Whether what follows the last assertion of a letter takes it back, or speaks against the same letter.

    Args:
        end: where the assertion ends, in the readable text.

    >>> from lacre.engine.readable import readable
    >>> taken_back(readable("Resposta: B. Esqueça."), "B", 11)
    True
    """
    line = read.plain[end : end + 300].split("\n")[0]
    if _BACK_WORDS.search(line):
        return True
    rest = read.part(end, len(read.text))
    pieces = [rest.plain[a:b] for a, b in sentences(rest.text)]
    if pieces and not re.match(r"[\s)\]\"”]*[.!…\n]", rest.text):
        pieces[0] = re.sub(r"^[^.!…,–—(-]*", "", pieces[0])
    said = [re.sub(r"^[\s.)\]\"”,!…(–—-]+", "", piece) for piece in pieces]
    said = [piece for piece in said if piece]
    if any(_BACK.match(piece) for piece in said) or any(_BACK_NEXT.match(piece) for piece in said[:1]):
        return True
    return any(
        _AGAINST.match(read.plain[match.end() : match.end() + 80])
        for match in re.compile(rf"(?<![\w'’]){letter}(?!\w)").finditer(read.text, end)
    )
