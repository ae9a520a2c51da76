"""Messages: literal templates, one pass, images, the canary out, the confidence line last."""

from __future__ import annotations

import base64
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.making import card, question

from lacre.engine.dialects import request_of
from lacre.engine.messages import (
    FIELDS,
    Message,
    TemplateError,
    TextPart,
    choice_message,
    load_images,
    open_message,
    read_templates,
    stripped,
)
from lacre.engine.plans import questions_of
from lacre.errors import InputError, IntegrityError
from lacre.registry.items import Image, Item, Passage, Payload

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
TEMPLATES = read_templates(None)
LAST = "Na última linha, escreva"


def payload(**changes: object) -> Payload:
    values: dict[str, object] = {
        "kind": "choice",
        "stem": "Que bicho é este?",
        "options": {"A": "Gato", "B": "Pato"},
        "key": "A",
    }
    return Payload(**(values | changes))  # type: ignore[arg-type]


def test_a_choice_message_reads_as_its_template_says() -> None:
    text = choice_message(TEMPLATES["choice"], payload(), None).text
    assert text.startswith("Que bicho é este?\n\nA) Gato\nB) Pato\n\nResponda com a letra")
    assert text.rpartition("\n")[2].startswith(LAST)


def test_passage_and_captions_come_first() -> None:
    with_both = payload(
        passage=Passage(text="Era uma vez."), images=(Image(file="a.png", sha256="0", caption="Um gato"),)
    )
    text = choice_message(TEMPLATES["choice"], with_both, None).text
    assert text.startswith("Era uma vez.\n\n[Imagem: Um gato]\n\nQue bicho")


@given(st.text(min_size=1))
def test_text_of_an_item_is_never_read_as_a_template(stem: str) -> None:
    marked = f"{{{{options}}}} {stem} {{{{stem}}}}"
    text = choice_message(TEMPLATES["choice"], payload(stem=marked), None).text
    assert text.count(marked) == 1
    assert text.endswith(TEMPLATES["choice"].text.rpartition("{{options}}")[2])


def test_the_key_and_expected_answers_are_never_sent() -> None:
    secret = payload(kind="open", key="RESPOSTA-ESPERADA", options={})
    assert "RESPOSTA-ESPERADA" not in open_message(TEMPLATES["open"], secret, None).text


def test_inline_images_stand_where_the_template_puts_them(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    image = Image(file="a.png", sha256=sha256(PNG).hexdigest(), caption="Um gato")
    parts = load_images(payload(images=(image,)), tmp_path)
    message = choice_message(
        TEMPLATES["choice"], payload(passage=Passage(text="Era."), images=(image,)), parts
    )
    assert [type(part).__name__ for part in message.parts] == ["TextPart", "ImagePart", "TextPart"]
    assert "Um gato" not in message.text
    data = base64.b64encode(PNG).decode()
    bodies = {
        dialect: request_of(card("http://127.0.0.1", dialect), message).body.decode()
        for dialect in ("openai", "anthropic", "gemini")
    }
    assert f'{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}' in bodies["openai"]
    assert f'"source":{{"type":"base64","media_type":"image/png","data":"{data}"}}' in bodies["anthropic"]
    assert f'{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}' in bodies["gemini"]


def test_an_image_that_is_not_the_item_s_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG + b"x")
    with pytest.raises(IntegrityError, match="not the image that the item names"):
        load_images(payload(images=(Image(file="a.png", sha256=sha256(PNG).hexdigest()),)), tmp_path)
    with pytest.raises(InputError, match="no such file"):
        load_images(payload(images=(Image(file="b.png", sha256="0"),)), tmp_path)
    (tmp_path / "c.txt").write_bytes(b"text")
    with pytest.raises(InputError, match="is no PNG"):
        load_images(payload(images=(Image(file="c.txt", sha256=sha256(b"text").hexdigest()),)), tmp_path)


def test_no_column_is_prompted_with_the_canary() -> None:
    canary = "LACRE-CANARY-123e4567"
    marked = payload(
        stem=f"Que bicho? {canary}",
        passage=Passage(text=f"{canary} Era."),
        options={"A": f"Gato {canary}", "B": "Pato"},
    )
    item = Item(id="q1", benchmark="b", layer="open", cell={"area": "x"}, payload=marked, canary=canary)
    [asked] = questions_of([item], Path())
    assert canary not in choice_message(TEMPLATES["choice"], asked.payload, None).text
    assert asked.fields == {"layer": "open", "area": "x"}
    assert stripped(payload(), None) == payload()


def test_the_workspace_s_own_templates_are_used_and_hashed(tmp_path: Path) -> None:
    own = "{{stem}}\n{{options}}\nDiga a sua confiança."
    (tmp_path / "choice.txt").write_text(own + "\n", encoding="utf-8")
    found = read_templates(tmp_path)["choice"]
    assert (found.text, found.sha256) == (own, sha256((own + "\n").encode()).hexdigest())
    assert (
        choice_message(found, payload(), None).text
        == "Que bicho é este?\nA) Gato\nB) Pato\nDiga a sua confiança."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{stem}}\nConfiança?", "lacks {{options}}"),
        ("{{stem}}{{options}}{{gabarito}}\nConfiança?", "'{{gabarito}}' is no field"),
        ("Confiança?\n{{stem}}\n{{options}}", "its last line does not ask for the confidence"),
        ("{{stem}}\n{{options}}\nResponda.", "its last line does not ask for the confidence"),
    ],
)
def test_a_template_that_would_ask_wrongly_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "choice.txt").write_text(text, encoding="utf-8")
    with pytest.raises(TemplateError) as raised:
        read_templates(tmp_path)
    assert said in str(raised.value)


def test_a_template_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "open.txt").write_bytes(b"\xff")
    with pytest.raises(TemplateError, match="is not UTF-8"):
        read_templates(tmp_path)


def test_the_workspace_of_this_project_has_the_package_s_templates() -> None:
    here = Path(__file__).parents[2] / "registry" / "templates"
    shipped = Path(__file__).parents[2] / "src/lacre/engine/templates"
    for name in FIELDS:
        assert (here / f"{name}.txt").read_bytes() == (shipped / f"{name}.txt").read_bytes()


def test_messages_that_say_the_same_share_their_digest() -> None:
    one, other = (Message(parts=(TextPart(text=text),)) for text in ("a", "b"))
    assert one.sha256 == Message(parts=(TextPart(text="a"),)).sha256 != other.sha256
    assert question("q1").parts == (None,)
