"""The confidence of a reply: read from its last line, refused where it is no number from 0 to 1."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.engine.confidence import NOT_STATED, confidence, without_confidence

STATED = {
    "percentage": ("B\nConfiança: 85%", 0.85),
    "percentage with blank and stop": ("B\nConfiança: 95,5 %.", 0.955),
    "share with comma": ("B\nConfiança: 0,85", 0.85),
    "share with point": ("B\nConfiança: .7", 0.7),
    "out of ten": ("B\nConfiança: 7/10", 0.7),
    "out of ten in words": ("B\nConfiança: 8 de 10", 0.8),
    "whole number is a percentage": ("B\nConfiança: 90", 0.9),
    "one is one percent": ("B\nConfiança: 1", 0.01),
    "one with a decimal is certainty": ("B\nConfiança: 1,0", 1.0),
    "nought counts": ("Não sei.\nConfiança: 0%", 0.0),
    "bare nought counts": ("Não sei.\nConfiança: 0", 0.0),
    "hundred": ("B\nConfiança: 100%", 1.0),
    "bold": ("B\n**Confiança:** **85%**", 0.85),
    "on the line of the answer": ("Letra D. Confiança: 80%", 0.8),
    "level of confidence": ("B\nNível de confiança: 60%", 0.6),
    "scale in brackets": ("B\nConfiança (0-100): 85", 0.85),
    "about": ("B\nConfiança: cerca de 70%", 0.7),
    "in a sentence": ("B\nMinha confiança é de 85%", 0.85),
    "percentage first": ("B\nTenho 85% de certeza.", 0.85),
    "english": ("B\nConfidence: 70%", 0.7),
    "percent spelled out": ("B\nConfiança: 70 por cento", 0.7),
    "last line without a name": ("B\n85%", 0.85),
    "last line a share": ("B\n0,85", 0.85),
    "last line out of ten": ("B\n7/10", 0.7),
    "blank lines after": ("B\nConfiança: 85%\n\n  \n", 0.85),
    "accents decomposed": ("B\nConfianc\u0327a: 85%", 0.85),
    "json": ('{"resposta": "B", "confiança": 0.7}', 0.7),
    "json percentage": ('{"resposta": "B", "confidence": "70%"}', 0.7),
}

REFUSED = {
    "word": ("B\nConfiança: alta", "states its confidence in words"),
    "nothing after the name": ("B\nConfiança:", "states its confidence in words"),
    "above": ("B\nConfiança: 120%", "states 120%, which is not between 0 and 1"),
    "whole number above": ("B\nConfiança: 850", "states 850, which is not between 0 and 1"),
    "negative": ("B\nConfiança: -5%", "states -5%, which is not between 0 and 1"),
    "more than all": ("B\nConfiança: 11/10", "states 11/10, which is not between 0 and 1"),
    "out of nothing": ("B\nConfiança: 8/0", "states 8/0, which is not between 0 and 1"),
    "range with a dash": ("B\nConfiança: 80-90%", "states more than one number"),
    "range with a word": ("B\nConfiança: 80 a 90%", "states more than one number"),
    "range between": ("B\nConfiança: entre 80 e 90%", "states a bound or a range, not a number"),
    "bound": ("B\nConfiança: > 90%", "states a bound or a range, not a number"),
    "bound in words": ("B\nConfiança: mais de 90%", "states a bound or a range, not a number"),
}

SILENT = {
    "no line": "A resposta é a letra B.",
    "the whole answer": "0,85",
    "a number that is no confidence": "B\n85",
    "percentage in a sentence": "B\nA velocidade cai 85% na subida.",
    "certainty without a number": "B\nNão tenho certeza",
    "not the last line": "Confiança: 85%\nA resposta é a letra B.",
    "empty": "",
}


@pytest.mark.parametrize(("reply", "value"), STATED.values(), ids=STATED)
def test_a_stated_confidence_is_read(reply: str, value: float) -> None:
    assert confidence(reply).value == pytest.approx(value)
    assert confidence(reply).missing is None


@pytest.mark.parametrize(("reply", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_number_from_0_to_1_is_refused_with_the_reason(reply: str, why: str) -> None:
    found = confidence(reply)
    assert found.value is None
    assert found.missing == f"the last line {why}"


@pytest.mark.parametrize("reply", SILENT.values(), ids=SILENT)
def test_a_reply_that_states_none_says_so(reply: str) -> None:
    assert confidence(reply).value is None
    assert confidence(reply).missing == NOT_STATED


@settings(deadline=None)
@given(st.integers(0, 100))
def test_every_percentage_is_read_back(percent: int) -> None:
    assert confidence(f"B\nConfiança: {percent}%").value == percent / 100


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_gives_a_value_in_range_or_a_reason(reply: str) -> None:
    found = confidence(reply)
    assert (found.value is None) == (found.missing is not None)
    assert found.value is None or 0 <= found.value <= 1


@settings(deadline=None)
@given(st.text(max_size=60), st.integers(0, 100))
def test_taking_the_statement_out_moves_nothing(answer: str, percent: int) -> None:
    reply = f"{answer}\nConfiança: {percent}%"
    rest = without_confidence(reply, confidence(reply))
    assert len(rest) == len(reply)
    assert rest.startswith(answer)
    assert "Confian" not in rest[len(answer) :]
