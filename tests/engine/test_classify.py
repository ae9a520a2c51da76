"""Classification by rule: what asserts a letter, what does not, and what is left to the judges."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.engine.classify import (
    BESIDE,
    DOUBTS,
    INITIAL,
    LISTED,
    NOTHING,
    OPEN,
    QUESTIONS,
    SEVERAL,
    TAKEN_BACK,
    WRONG_ONE,
    Classification,
    State,
    classify,
    classify_reply,
)
from lacre.engine.readable import readable
from lacre.engine.replies import Answered, Delivery, Failed, Refused, Reply, Truncated
from lacre.scoring.outcomes import Expects, Outcome

BLANK = dict.fromkeys("ABCDE", "")
"""Options whose texts are not known."""

CITIES = {"A": "10 m/s", "B": "Rio de Janeiro", "C": "42", "D": "São Paulo", "E": "Nenhuma das anteriores"}

ASSERTED = (
    ("Escolho B. Ou melhor, C.", "C"),
    ("Resposta: B. Ops, C.", "C"),
    ("Resposta: B\n\nNa verdade, C.", "C"),
    ("Letra B... pensando melhor, D", "D"),
    ("Resposta: B. Desculpe, quis dizer C.", "C"),
    ("Answer: B. Sorry, I meant D.", "D"),
    ("Resposta: B. Ops, C. Não, espera: B.", "B"),
    ("Portanto a alternativa correta é a alternativa: 'B'", "B"),
    ("Não é a B. É a C.", "C"),
    ("A alternativa correta não é a B, mas sim a D.", "D"),
    ("Não pode ser a letra A; marco D.", "D"),
    ("A) Correta\nB) Incorreta\nC) Incorreta", "A"),
    ("A) Incorreta. B) Incorreta. C) Correta. Resposta: C", "C"),
    ("Pensando melhor, é a C.", "C"),
    ("A resposta é A. Pensando melhor, é a C.", "C"),
    ("Resposta: A\n\nNa verdade, a resposta correta é a C.", "C"),
    ("Resposta: A. Aliás, é a letra C.", "C"),
    ("Entre B e C, fico com C.", "C"),
    ("$\\boxed{C}$", "C"),
    ("Portanto, $$\\boxed{\\textbf{(D)}}$$", "D"),
    ("\\boxed{B}.", "B"),
    ("**C**", "C"),
    ("**(C)**", "C"),
    ("__D__", "D"),
    ("Alternativa D", "D"),
    ("Alternativa: D", "D"),
    ("Letra E", "E"),
    ("letra c", "C"),
    ("Resposta: letra c", "C"),
    ("resposta: c", "C"),
    ("Gabarito: E", "E"),
    ("GABARITO LETRA B", "B"),
    ("Gabarito: letra B", "B"),
    ("(B)", "B"),
    ("b)", "B"),
    ("B)", "B"),
    ("[C]", "C"),
    ("a", "A"),
    ("e", "E"),
    ('{"resposta": "C"}', "C"),
    ('```json\n{"answer": "b", "confidence": 0.9}\n```', "B"),
    ('{"alternativa":"D) texto"}', "D"),
    ("Answer: B", "B"),
    ("The answer is C.", "C"),
    ("The correct option is (D).", "D"),
    ("I think it is B.", "B"),
    ("Option A is correct.", "A"),
    ("Final answer: E", "E"),
    ("C\n\nQuestão 5:\nQual...\nA) x\nB) y\nResposta: B", "C"),
    ("B.\n##\nQuestão 2: ...\nResposta: A", "B"),
    ("Resposta: A\n\nPergunta: outra?\nResposta: C", "A"),
    ("A alternativa A é a correta.", "A"),
    ("a alternativa a está correta", "A"),
    ("a alternativa e é a correta", "E"),
    ("A alternativa correta é a A", "A"),
    ("A alternativa correta é a letra E, pois o calor flui.", "E"),
    ("A letra B está errada, a letra C está errada, logo sobra a D.", "D"),
    ("Alternativa correta: **C**", "C"),
    ("**Alternativa correta: C)** 42", "C"),
    ("✅ C", "C"),
    ("👉 **Resposta: D**", "D"),
    ("> Resposta: B", "B"),
    ("### Resposta: B", "B"),
    ("Resposta → D", "D"),
    ("R: C", "C"),
    ("R. B", "B"),
    ("Resp.: A", "A"),
    ("A alternativa incorreta é a D. Resposta: D", "D"),
    ("Acho que é a B.", "B"),
    ("Acredito que a resposta seja a C.", "C"),
    ("Creio que seja D.", "D"),
    ("Provavelmente a alternativa C.", "C"),
    ("Eu marcaria a opção D.", "D"),
    ("Minha resposta é B.", "B"),
    ("Marque a letra B.", "B"),
    ("Escolho C", "C"),
    ("Vou de E.", "E"),
    ("Chuto B.", "B"),
    ("Não tenho certeza, mas acho que é C.", "C"),
    ("Resposta: Ｃ", "C"),
    ("Resposta: Е", "E"),
    ("Ⓒ", "C"),
    ("Resposta: 𝐂", "C"),
    ("A resposta correta é: \n\nC", "C"),
    ("A resposta correta é:\n\n**C) 42**", "C"),
    ("<think>Acho B, não, C</think>D", "D"),
    ("Talvez B.</think>\nD", "D"),
    ("C. Porque sim.", "C"),
    ("C - 42", "C"),
    ("C: 42", "C"),
    ("C, pois o calor flui.", "C"),
    ("C porque o calor flui", "C"),
    ("C.\n\nExplicação: a A ignora o atrito.", "C"),
    ("A, pois o calor flui.", "A"),
    ("E, porque o calor flui.", "E"),
    ("A: o calor flui", "A"),
    ("Analisando: A alternativa A diz que sim. A alternativa B diz que não. Resposta: B", "B"),
    ("a) errado\nb) errado\nc) certo\nd) errado\nPortanto, a resposta é a letra c.", "C"),
    ("As alternativas A, B, C e E estão incorretas. A correta é a D.", "D"),
    ("Descartamos A e B. Entre C e D, a melhor é D.", "D"),
    ("Nem a A nem a B. A certa é C.", "C"),
    ("Resposta: B (e não C)", "B"),
    ("Resposta: B, e não a C", "B"),
    ("Resposta final: **E**.\n\nConfiança: 80", "E"),
    ("D\nConfiança: 75%", "D"),
    ('A resposta correta é a alternativa (D), "São Paulo".', "D"),
    ("Opção correta: D", "D"),
    ("Letra B, pois a letra C está errada", "B"),
    ("B está correta.", "B"),
    ("B é a correta", "B"),
    ("A correta é B", "B"),
    ("A certa é a B", "B"),
    ("Gab. C", "C"),
    ("Gabarito oficial: C", "C"),
    ("Assinale a alternativa C.", "C"),
    ("Item correto: B", "B"),
    ("Resposta correta: alternativa B.", "B"),
    ("A alternativa que responde corretamente é a letra D.", "D"),
    ("Portanto a resposta é: C", "C"),
    ("Logo: C", "C"),
    ("Logo, a alternativa é C.", "C"),
    ("Então, C!", "C"),
    ("Dessa forma, a letra D é a resposta.", "D"),
    ("Com base nisso, a alternativa mais adequada seria a C", "C"),
    ("A melhor resposta é a C.", "C"),
    ("a resposta certa é d", "D"),
    ("A opção correta é a A, que fala do calor.", "A"),
    ("A alternativa correta é B. A peneira não serve.", "B"),
    ("Logo, sobra apenas a letra E.", "E"),
    ("Alternativa (B).", "B"),
    ("A) está errada\nB) está errada\nC) está certa\nPortanto, C.", "C"),
)

NOT_ASSERTED = (
    "Resposta: B (ou C)",
    "Resposta: B; talvez C.",
    "Resposta: B. Mas poderia ser C.",
    "A resposta é B, mas C também serve.",
    "Resposta: B, ou quem sabe a D.",
    "A alternativa B está incorreta.",
    "A resposta não é a B.",
    "A) 10\nB) 20\nC) 30\nD) 40\nE) 50",
    "A resposta é a B ou a C.",
    "B e C estão corretas.",
    "Fico em dúvida entre A e D.",
    "o",
    '{"resposta": "B ou C"}',
    '{"resposta": ["A","B"]}',
    "A energia se conserva.",
    "E agora? O corpo cai.",
    "A Terra gira. E o Sol também.",
    "O vetor A é maior que o B.",
    "Resposta: A energia é conservada.",
    "Resposta: E o corpo se move.",
    "A resposta é a energia cinética.",
    "A resposta é o carbono.",
    "A resposta correta é a que indica calor.",
    "O grupo A é o correto",
    "A vitamina C é a correta para isso.",
    "Hepatite B",
    "O tipo sanguíneo é B.",
    "na alternativa a seguir",
    "A incorreta é a letra C.",
    "Se a resposta fosse B, a velocidade seria maior.",
    "A resposta é B?",
    "Talvez seja a A.",
    "Nenhuma alternativa está correta.",
    "Não é possível concluir que a inflação caiu.",
    'O autor afirma: "não sei". Ele duvida.',
    "Não sei se a energia se conserva, portanto o calor flui.",
    "<think>Resposta: B",
    "A alternativa B está correta. A alternativa D também está correta.",
    "Resposta: A e C",
    "Resposta: A/C",
    "Resposta: A, B",
    "Todas as opções servem.",
    "Resposta: D. E.",
    "(a) um (b) dois (c) três (d) quatro (e) cinco",
    "Assinale a alternativa correta:\nA) um\nB) dois\nC) três",
)

BY_TEXT = (
    ("Rio de Janeiro", "B"),
    ("A cidade é o Rio de Janeiro.", "B"),
    ("D) São Paulo", "D"),
    ("B) Rio de janeiro", "B"),
    ("42", "C"),
    ("A velocidade é de 10 m/s.", "A"),
    ("Nenhuma das anteriores.", "E"),
    ("Calculando, temos 42 metros no início. Portanto, o valor é 42.", "C"),
    ("$\\boxed{42}$", "C"),
    ("A resposta é 42.", "C"),
    ("Resposta: São Paulo", "D"),
    ("Resposta: São Paulo (D)", "D"),
    ("C. 42 é o valor", "C"),
)

AGAINST_TEXT = (
    "São Paulo e Rio de Janeiro",
    "Não é São Paulo.",
    "D) Rio de Janeiro",
    "O resultado é 142.",
    "O resultado é 42,5.",
    "O resultado é 42 km.",
    "Resposta: São Paulo (B)",
    "D. Rio de Janeiro",
    "A resposta é B. São Paulo",
    "42\nResposta: B",
)

PHRASES = (
    ("I cannot answer this question because the image is missing.", "A"),
    ("It is not possible to determine the value from the data.", "A"),
    ("Não sei.", "A"),
    ("não sei", "A"),
    ("Não sei a resposta.", "A"),
    ("I don't know.", "A"),
    ("Infelizmente, não consigo visualizar a imagem.", "A"),
    ("Não é possível determinar a resposta sem o gráfico.", "A"),
    ("Desculpe, não posso responder a essa pergunta.", "R"),
    ("I'm sorry, but I can't help with that.", "R"),
    ("Como uma IA, não posso emitir opiniões políticas.", "R"),
    ("Não posso responder sem ver a imagem.", "A"),
    ("Prefiro não responder.", "A"),
    ("Faltam dados para responder.", "A"),
    ("Lamento, mas não posso opinar sobre candidatos.", "R"),
    ("Isso viola as minhas diretrizes.", "R"),
)


def letter(reply: str, options: dict[str, str] = BLANK, *, number: int | None = None) -> str | None:
    return classify(reply, options, number=number).letter


@pytest.mark.parametrize(("reply", "want"), ASSERTED, ids=[reply for reply, _ in ASSERTED])
def test_an_asserted_letter_is_read(reply: str, want: str) -> None:
    found = classify(reply, BLANK)
    assert found.letter == want, found
    assert found.rule
    assert found.undecided is None


@pytest.mark.parametrize("reply", NOT_ASSERTED)
def test_a_letter_that_is_not_asserted_goes_to_the_judges(reply: str) -> None:
    found = classify(reply, BLANK)
    assert found.letter is None, found
    assert found.outcome is None
    assert found.undecided
    assert found.rule is None


@pytest.mark.parametrize(("reply", "want"), BY_TEXT)
def test_the_text_of_one_option_is_read(reply: str, want: str) -> None:
    assert letter(reply, CITIES) == want


@pytest.mark.parametrize("reply", AGAINST_TEXT)
def test_a_letter_beside_another_options_text_goes_to_the_judges(reply: str) -> None:
    found = classify(reply, CITIES)
    assert found.letter is None
    assert found.undecided


@pytest.mark.parametrize(("reply", "want"), PHRASES)
def test_words_of_refusal_and_abstention_are_classes(reply: str, want: str) -> None:
    found = classify(reply, BLANK)
    assert found.outcome is Outcome.of(want), found
    assert found.letter is None


WHY = {
    "B ou C": SEVERAL,
    "A) um\nB) dois\nC) três": LISTED,
    "A energia se conserva.": NOTHING,
    "A incorreta é a letra C.": WRONG_ONE,
    "Questão 1:\nResposta: A\nQuestão 2:\nResposta: C": QUESTIONS,
    "Não posso responder: o enunciado contém um erro.": DOUBTS,
}


@pytest.mark.parametrize(("reply", "why"), WHY.items(), ids=WHY)
def test_what_is_left_says_why(reply: str, why: str) -> None:
    assert classify(reply, BLANK).undecided == why


STATES: dict[str, tuple[State, str, str | None, str | None]] = {
    "refused whatever the text": ("refused", "B", None, "R"),
    "failed": ("failed", "", None, "F"),
    "empty": ("answered", " \n ", None, "F"),
    "cut before an answer": ("truncated", "A energia se", None, "F"),
    "cut right after a letter": ("truncated", "Resposta: A", None, "F"),
    "cut after the answer": ("truncated", "Resposta: C.\nIsso porque o", "C", None),
    "cut at a figure that may go on": ("truncated", "O resultado é 42", None, "F"),
    "cut refusal words": ("truncated", "Não sei se", None, "F"),
}


@pytest.mark.parametrize(("state", "reply", "want", "outcome"), STATES.values(), ids=STATES)
def test_how_the_reply_ended_comes_first(
    state: State, reply: str, want: str | None, outcome: str | None
) -> None:
    found = classify(reply, CITIES, state=state)
    assert found.letter == want
    assert (found.outcome and found.outcome.letter) == outcome
    assert found.truncated == (state == "truncated")


DELIVERY = Delivery(status=200, attempts=1, latency=0.1)
REPLIES: dict[str, tuple[Reply, Outcome]] = {
    "answered": (Answered(text="B", finish="stop", raw_finish="stop", delivery=DELIVERY), Outcome.CORRECT),
    "refused": (
        Refused(text="B", finish="content_filter", raw_finish="content_filter", delivery=DELIVERY),
        Outcome.REFUSAL,
    ),
    "truncated": (
        Truncated(text="A", finish="length", raw_finish="length", delivery=DELIVERY),
        Outcome.FAILURE,
    ),
    "failed": (Failed(cause="timeout", detail="no answer in time", delivery=DELIVERY), Outcome.FAILURE),
}


@pytest.mark.parametrize(("reply", "outcome"), REPLIES.values(), ids=REPLIES)
def test_every_kind_of_reply_has_its_class(reply: Reply, outcome: Outcome) -> None:
    assert classify_reply(reply, BLANK, key="B").outcome is outcome


KEYS: dict[str, tuple[str | None, Expects, Outcome | None]] = {
    "right": ("B", "answer", Outcome.CORRECT),
    "wrong": ("C", "answer", Outcome.WRONG),
    "no key": (None, "answer", None),
    "small key": ("b", "answer", Outcome.CORRECT),
    "an item without an answer": (None, "abstention", Outcome.WRONG),
}


@pytest.mark.parametrize(("key", "expects", "outcome"), KEYS.values(), ids=KEYS)
def test_a_letter_is_right_or_wrong_by_the_key(
    key: str | None, expects: Expects, outcome: Outcome | None
) -> None:
    assert classify("Letra B.", BLANK, key=key, expects=expects).outcome is outcome


def test_an_abstention_stays_one_on_an_item_that_expects_it() -> None:
    assert classify("Não sei.", BLANK, expects="abstention").outcome is Outcome.ABSTENTION


def test_open_ended_answers_have_no_letters() -> None:
    assert classify("B", {}).undecided == OPEN
    assert classify("Não sei.", {}).outcome is Outcome.ABSTENTION
    assert classify("Desculpe, não posso ajudar.", {}).outcome is Outcome.REFUSAL


def test_a_long_open_ended_answer_is_an_attempt_whatever_phrases_it_holds() -> None:
    argument = "O pedido deve ser acolhido, pois o prazo legal correu. " * 12
    assert classify(f"{argument}Logo, não é possível determinar a penhora.", {}).undecided == OPEN
    assert classify(f"Desculpe, não posso ajudar com isso. {argument}", {}).outcome is Outcome.REFUSAL


SHOTS = (
    "Claro! Aqui estão:\n\nQuestão 1:\nResposta: A. Um gato.\nQuestão 2:\nResposta: C. Dois patos na lagoa."
)


def test_where_several_questions_are_answered_the_number_or_the_quoted_option_tells() -> None:
    animals = {"A": "Três cães no quintal", "B": "Nenhum bicho", "C": "Dois patos na lagoa"}
    assert letter(SHOTS) is None
    assert letter(SHOTS, number=2) == "C"
    assert letter(SHOTS, number=3) is None
    assert letter(SHOTS, animals) == "C"


@pytest.mark.parametrize(
    "rest",
    ["\n\nQuestão 5:\nEnunciado: o que é?\nA) x\nB) y\nResposta: B", "\n##\nPergunta: outra\nResposta: A"],
)
def test_what_a_base_model_invents_after_its_answer_does_not_count(rest: str) -> None:
    assert letter(f"D{rest}") == "D"


def test_the_last_asserted_letter_wins_when_it_concludes_or_changes_the_mind() -> None:
    assert letter("A resposta é A. Revendo as contas, a resposta é C.") == "C"
    assert letter("A alternativa correta é a A. Portanto, a alternativa correta é a C.") == "C"
    assert (
        letter("A alternativa correta é a A.\nO texto fala de calor.\nA alternativa correta é a C.") is None
    )


SPANS = (
    "Pois bem. **Resposta: C**, pois sim.",
    "Cálculo longo.\n\n$\\boxed{C}$",
    "<think>B?</think>\nLetra C",
)


@pytest.mark.parametrize("reply", SPANS)
def test_the_span_is_that_of_the_reply_as_it_came(reply: str) -> None:
    found = classify(reply, BLANK)
    assert found.start is not None
    assert found.end is not None
    assert "C" in reply[found.start : found.end]


def test_more_than_five_options_and_fewer_have_their_letters() -> None:
    assert letter("Resposta: G", dict.fromkeys("ABCDEFGH", "")) == "G"
    assert letter("Resposta: D", dict.fromkeys("ABC", "")) is None


def test_the_confidence_stands_beside_the_class() -> None:
    found = classify("Letra B.\nConfiança: 85%", BLANK)
    assert (found.letter, found.confidence, found.no_confidence) == ("B", 0.85, None)
    assert classify("Letra B.", BLANK).no_confidence


WORDS = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "D",
        "E",
        "a",
        "e",
        "o",
        "não",
        "é",
        "resposta:",
        "alternativa",
        "correta",
        "letra",
        "(B)",
        "B)",
        "**C**",
        "\n",
        ".",
        ",",
        "ou",
        "portanto",
        "42",
        "Rio",
        "de",
        "Janeiro",
        "Questão",
        "5:",
        "##",
        "<think>",
        "</think>",
        "\\boxed{",
        "}",
        "sei",
        "posso",
    ]
)


@settings(deadline=None)
@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_any_words_give_one_class_or_one_reason(reply: str) -> None:
    found = classify(reply, CITIES)
    assert (found.rule is None) == (found.undecided is not None)
    assert found.letter is None or found.letter in CITIES
    assert found.start is None or (found.end is not None and 0 <= found.start <= found.end <= len(reply))


@pytest.mark.untraced
@settings(deadline=None)
@given(st.text(max_size=300))
def test_reading_keeps_every_place(reply: str) -> None:
    read = readable(reply)
    assert len(read.text) == len(read.plain) == len(read.places) - 1
    assert list(read.places) == sorted(read.places)
    assert read.places[-1] == len(reply)


@settings(deadline=None)
@given(st.sampled_from([reply for reply, _ in ASSERTED]), st.sampled_from(["", "\n", "  ", "\u200b"]))
def test_blanks_around_a_reply_change_nothing(reply: str, blank: str) -> None:
    assert letter(f"{blank}{reply}{blank}") == letter(reply)


HOSTILE = (
    "na verdade, ",
    "ou talvez a letra ",
    "mas ",
    "a ",
    "resposta ",
    "a alternativa que ",
    "(",
    "A. x\n",
    "<think>",
    "\\boxed{",
    "B ou ",
    "se ",
    "?",
    "não ",
    "A) x, ",
    "\n",
    "Rio de Janeiro ",
    "não que ",
    "letra A: ",
    "~~",
    "aluno ",
)


@pytest.mark.untraced
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_reply_takes_time_in_proportion(piece: str) -> None:
    begun = time.process_time()
    classify(piece * (100_000 // len(piece)), CITIES)
    assert time.process_time() - begun < 5


def test_figures_of_a_formula_fill_no_option_and_a_short_list_that_goes_on_chooses_none() -> None:
    assert classify("Resposta: (B) Rio de Janeiro. (D) - São Paulo", CITIES).undecided == LISTED
    assert classify("A) calor\nB) frio\n\nResposta: B) calor", BLANK).undecided == LISTED
    assert classify("Resposta: D. Pedro II", BLANK).undecided == INITIAL
    assert classify("Resposta: B. Esqueça.", BLANK).undecided == TAKEN_BACK
    assert classify("Não sei se leio bem, mas não sei, C.", BLANK).letter is None
    assert classify("Não sei, mas o professor disse B.", BLANK).undecided == BESIDE


def test_same_reply_same_record() -> None:
    assert (
        classify("Letra B", BLANK)
        == classify("Letra B", BLANK)
        == Classification(
            letter="B",
            rule="option named",
            start=0,
            end=7,
            no_confidence="the last line states no confidence",
        )
    )
