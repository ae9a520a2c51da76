"""Signed statements: an in-toto Statement v1 in a DSSE envelope, one Ed25519 signature, canonical bytes.

The envelope is checkable with ``openssl pkeyutl -verify -rawin`` over :func:`pae`. Only the one canonical
form is accepted: no byte of an envelope can change unseen.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from lacre.digest import canonical, is_canonical
from lacre.errors import IntegrityError, sentence
from lacre.registry.events import Hash
from lacre.registry.ledger import Signer
from lacre.registry.records import Record
from lacre.sealing.keys import PublicKey

T = TypeVar("T")

PAYLOAD_TYPE: Literal["application/vnd.in-toto+json"] = "application/vnd.in-toto+json"
STATEMENT: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"


class Digest(Record):
    """The SHA-256 of a subject, 64 hex digits."""

    sha256: Hash


class Subject(Record):
    """One thing that a statement is about: its name and its digest."""

    name: str
    digest: Digest


class Statement(Record, omit_defaults=False, rename={"type": "_type", "predicate_type": "predicateType"}):
    """An in-toto Statement v1: what is claimed (``predicate``) about which bytes (``subject``)."""

    subject: tuple[Subject, ...]
    predicate_type: str
    predicate: dict[str, Any]
    type: Literal["https://in-toto.io/Statement/v1"] = STATEMENT


class Signature(Record):
    """One signature and the fingerprint of the key that made it."""

    keyid: Hash
    sig: str


class Envelope(Record, omit_defaults=False, rename={"payload_type": "payloadType"}):
    """A DSSE envelope: the statement's bytes in base64 with one signature."""

    payload: str
    signatures: tuple[Signature]
    payload_type: Literal["application/vnd.in-toto+json"] = PAYLOAD_TYPE


class Signed(Record):
    """A statement whose signature holds, and the fingerprint of the key that made it."""

    statement: Statement
    key: str


def statement(subjects: Mapping[str, str], predicate_type: str, predicate: object) -> Statement:
    """A statement about named SHA-256 digests.

    >>> statement({"a.txt": "0" * 64}, "urn:example", {"n": 1}).subject[0].name
    'a.txt'
    """
    return Statement(
        subject=tuple(
            Subject(name=name, digest=Digest(sha256=digest)) for name, digest in sorted(subjects.items())
        ),
        predicate_type=predicate_type,
        predicate=msgspec.to_builtins(predicate),
    )


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """The bytes that are signed (DSSE v1, pre-authentication encoding).

    >>> pae(b"hello world", "http://example.com/HelloWorld")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def sign(claim: Statement, signer: Signer) -> bytes:
    """The envelope of a statement, as the bytes of its file: canonical JSON and a line feed."""
    payload = canonical(claim)
    signature = Signature(keyid=signer.fingerprint, sig=_base64(signer.sign(pae(payload))))
    return canonical(Envelope(payload=_base64(payload), signatures=(signature,))) + b"\n"


def verify(content: bytes, keys: Mapping[str, PublicKey], where: str | Path) -> Signed:
    """The statement of an envelope, its signature checked against the key of ``keys`` that it names.

    Raises:
        IntegrityError: the envelope was changed, or none of these keys made it.
    """
    envelope = _decoded(content.removesuffix(b"\n"), Envelope, where)
    if not content.endswith(b"\n") or not is_canonical(envelope, content[:-1]):
        raise _changed(where, "the envelope is not in canonical form")
    signature = envelope.signatures[0]
    key = keys.get(signature.keyid)
    if key is None:
        raise IntegrityError(
            sentence(
                where,
                f"signed by key {signature.keyid[:16]}..., which is not trusted here",
                "Ask whose it is",
            )
        )
    payload = _bytes(envelope.payload, where)
    if not key.signed(pae(payload), _bytes(signature.sig, where)):
        raise _changed(where, f"key {signature.keyid[:16]}... did not sign this")
    claim = _decoded(payload, Statement, where)
    if not is_canonical(claim, payload):
        raise _changed(where, "the statement is not in canonical form")
    return Signed(statement=claim, key=signature.keyid)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(text: str, where: str | Path) -> bytes:
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    # Several texts decode to the same bytes; one is accepted.
    if _base64(content) != text:
        raise _changed(where, "it is not base64")
    return content


def _decoded(content: bytes, kind: type[T], where: str | Path) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _changed(where, f"it is no {kind.__name__.lower()}") from None


def _changed(where: str | Path, what: str) -> IntegrityError:
    return IntegrityError(sentence(where, f"was changed: {what}", "Get it again from who published it"))
