"""Messages: literal templates filled with an item, the confidence line last (SPEC L12, L21, B6)."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError
from lacre.jsonl import read_bytes
from lacre.registry.columns import Images
from lacre.registry.items import Image, Part, Payload
from lacre.registry.records import Record

NO_ANSWER = "(sem resposta)"
"""What stands for an earlier answer that was refused or failed."""

TemplateName = Literal["choice", "open", "part"]
FIELDS: Mapping[TemplateName, frozenset[str]] = {
    "choice": frozenset({"passage", "images", "stem", "options"}),
    "open": frozenset({"passage", "images", "stem"}),
    "part": frozenset({"passage", "images", "stem", "earlier", "part"}),
}
REQUIRED: Mapping[TemplateName, frozenset[str]] = {
    "choice": frozenset({"stem", "options"}),
    "open": frozenset({"stem"}),
    "part": frozenset({"stem", "earlier", "part"}),
}

_FIELD = re.compile(r"\{\{(\w+)\}\}")
_CONFIDENCE = re.compile(r"confian|confidence", re.IGNORECASE)
_MEDIA = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


class TextPart(Record, tag="text"):
    """A stretch of text."""

    text: str


class ImagePart(Record, tag="image"):
    """An image as data."""

    media: str
    base64: str


Content: TypeAlias = TextPart | ImagePart

Pictures: TypeAlias = Path | Mapping[str, bytes]
"""Where the images of an item are: in a folder, or here, by file name, for an item that is in no folder."""


class Message(Record):
    """One message to a column, the same for all that see images alike."""

    parts: tuple[Content, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is one stretch of text."""
        return len(self.parts) == 1 and isinstance(self.parts[0], TextPart)

    @property
    def text(self) -> str:
        """Its text without the images."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def sha256(self) -> str:
        """The SHA-256 of its parts: two messages that share it say the same."""
        return sha256(
            b"".join(
                b"t" + part.text.encode() + b"\0"
                if isinstance(part, TextPart)
                else b"i" + part.media.encode() + b" " + part.base64.encode() + b"\0"
                for part in self.parts
            )
        )


class Template(Record):
    """A literal message with ``{{fields}}``, and the SHA-256 of its file."""

    name: TemplateName
    text: str
    sha256: str


class Earlier(Record):
    """An earlier part of an open item, and the column's own answer to it; none when it gave none."""

    part: Part
    answer: str | None


def default_templates() -> dict[str, str]:
    """The templates that come with the package, by file name; ``lacre init`` copies them into a workspace."""
    return {f"{name}.txt": _packaged(name).decode() for name in FIELDS}


def _packaged(name: TemplateName) -> bytes:
    return files("lacre.engine").joinpath("templates", f"{name}.txt").read_bytes()


def read_templates(folder: Path | None) -> dict[TemplateName, Template]:
    """The templates of a workspace's folder; those that come with the package where it has none.

    Raises:
        InputError: a template lacks a field, has an unknown one, or does not end with the confidence line;
            all that is wrong is in one message.
    """
    templates: dict[TemplateName, Template] = {}
    faults: list[str] = []
    for name in FIELDS:
        path = folder / f"{name}.txt" if folder is not None else None
        if path is not None and path.exists():
            content, where = read_bytes(path), str(path)
        else:
            content, where = _packaged(name), f"template {name}"
        try:
            text = content.decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n")
        except UnicodeDecodeError:
            faults.append(str(InputError(where, "is not UTF-8", "Save it as UTF-8")))
            continue
        faults.extend(str(InputError(where, what, todo)) for what, todo in _template_faults(name, text))
        templates[name] = Template(name=name, text=text, sha256=sha256(content))
    if faults:
        raise TemplateError("\n".join(faults))
    return templates


class TemplateError(InputError):
    """One or more templates are not what they must be; every fault has its own line."""

    def __init__(self, lines: str) -> None:
        Exception.__init__(self, lines)


def _template_faults(name: TemplateName, text: str) -> list[tuple[str, str]]:
    found = set(_FIELD.findall(text))
    faults = [
        (f"'{{{{{field}}}}}' is no field of it", f"There are: {', '.join(sorted(FIELDS[name]))}")
        for field in sorted(found - FIELDS[name])
    ]
    faults.extend(
        (f"it lacks {{{{{field}}}}}", "Add it, or the item would not be asked")
        for field in sorted(REQUIRED[name] - found)
    )
    last = text.rpartition("\n")[2]
    if _FIELD.search(last) or not _CONFIDENCE.search(last):
        faults.append(("its last line does not ask for the confidence", "Ask for it there, and only there"))
    return faults


def choice_message(template: Template, payload: Payload, images: Sequence[ImagePart] | None) -> Message:
    """The message of a choice item; ``images`` are data, or none to give their captions."""
    options = "\n".join(f"{letter}) {text}" for letter, text in payload.options.items())
    return _filled(template, {**_common(payload), "options": options}, payload, images)


def open_message(template: Template, payload: Payload, images: Sequence[ImagePart] | None) -> Message:
    """The message of an open item without parts."""
    return _filled(template, _common(payload), payload, images)


def part_message(
    template: Template,
    payload: Payload,
    part: Part,
    earlier: Sequence[Earlier],
    images: Sequence[ImagePart] | None,
) -> Message:
    """The message of one part of an open item, after the earlier parts and the column's own answers (B6)."""
    before = "\n\n".join(
        f"{one.part.id}) {one.part.prompt}\nSua resposta: {one.answer or NO_ANSWER}" for one in earlier
    )
    asked = f"{part.id}) {part.prompt}"
    return _filled(template, {**_common(payload), "earlier": before, "part": asked}, payload, images)


def _common(payload: Payload) -> dict[str, str]:
    return {"passage": payload.passage.text if payload.passage else "", "stem": payload.stem}


def _filled(
    template: Template,
    values: Mapping[str, str],
    payload: Payload,
    images: Sequence[ImagePart] | None,
) -> Message:
    """A template with its fields in their places, in one pass: a field's text is never read again."""
    captions = "\n".join(f"[Imagem: {image.caption}]" for image in payload.images)
    every = {**values, "images": "images" if images else captions}
    parts: list[Content] = []
    text: list[str] = []
    for place, piece in enumerate(_FIELD.split(_kept(template.text, every))):
        if place % 2 == 0 or piece != "images" or not images:
            text.append(every[piece] if place % 2 else piece)
            continue
        if before := "".join(text):
            parts.append(TextPart(text=before))
        parts.extend(images)
        text.clear()
    if after := "".join(text):
        parts.append(TextPart(text=after))
    if images and not any(isinstance(part, ImagePart) for part in parts):
        # A template without a place for images puts them first.
        parts = [*images, *parts]
    return Message(parts=tuple(parts))


def _kept(text: str, values: Mapping[str, str]) -> str:
    """A template without the lines whose only field is empty, each with the blank line after it."""
    lines = text.split("\n")
    kept: list[str] = []
    skip_blank = False
    for line in lines:
        alone = _FIELD.fullmatch(line.strip())
        if alone and not values[alone[1]]:
            skip_blank = True
            continue
        if not (skip_blank and not line.strip()):
            kept.append(line)
        skip_blank = False
    return "\n".join(kept)


def load_images(payload: Payload, pictures: Pictures) -> tuple[ImagePart, ...]:
    """The images of an item as data, each checked against its SHA-256.

    Raises:
        InputError: a file is missing, or is no PNG, JPEG, GIF or WebP. Images that are in no folder are not named.
        IntegrityError: a file is not the one that the item names.
    """
    return tuple(_image(image, pictures) for image in payload.images)


def _image(image: Image, pictures: Pictures) -> ImagePart:
    if isinstance(pictures, Path):
        where = str(pictures / image.file)
        content = read_bytes(pictures / image.file)
    else:
        where = "an image of an item"
        if image.file not in pictures:
            raise InputError(where, "is missing", "Restore it")
        content = pictures[image.file]
    if sha256(content) != image.sha256:
        raise IntegrityError(f"{where}: is not the image that the item names. Restore it.")
    media = next((media for magic, media in _MEDIA.items() if content.startswith(magic)), None)
    if media is None:
        raise InputError(where, "is no PNG, JPEG, GIF or WebP", "Convert it")
    return ImagePart(media=media, base64=base64.b64encode(content).decode("ascii"))


def stripped(payload: Payload, canary: str | None) -> Payload:
    """The payload without the canary, wherever in its text that stands: no column is to be prompted with it."""
    if not canary:
        return payload

    def clean(text: str) -> str:
        return text.replace(canary, "").strip() if canary in text else text

    return _mapped(payload, clean)


def _mapped(payload: Payload, clean: Callable[[str], str]) -> Payload:
    replace = msgspec.structs.replace
    return replace(
        payload,
        stem=clean(payload.stem),
        passage=replace(payload.passage, text=clean(payload.passage.text)) if payload.passage else None,
        options={letter: clean(text) for letter, text in payload.options.items()},
        parts=tuple(replace(part, prompt=clean(part.prompt)) for part in payload.parts),
        images=tuple(replace(image, caption=clean(image.caption)) for image in payload.images),
    )


def uncaptioned(payload: Payload, images: Images) -> tuple[str, ...]:
    """The images that a column which gets captions would not be told of, by file name."""
    if images == "inline":
        return ()
    return tuple(image.file for image in payload.images if not image.caption.strip())
