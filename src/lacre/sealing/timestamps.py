"""RFC 3161 time stamps: an authority signs that some bytes existed by a time. Needs the [timestamp] extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from cryptography import x509

from lacre.errors import ColumnError, InputError, IntegrityError, sentence
from lacre.registry.records import Record

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

Post = Callable[[str, bytes], bytes]
"""Sends a request to an address and returns the body of the answer."""

QUERY, REPLY = "application/timestamp-query", "application/timestamp-reply"
SECONDS = 30.0  # how long an authority may take


class Stamp(Record):
    """A time stamp whose signature holds: the bytes existed at ``at`` (UTC), says ``authority``."""

    at: str
    authority: str
    serial: str


def request(content: bytes) -> bytes:
    """A request for a stamp over ``content``: a .tsq file, SHA-512, with a nonce, asking for certificates.

    Raises:
        InputError: the extra is not installed.
    """
    client = _client()
    return bytes(client.TimestampRequestBuilder().data(content).build().as_bytes())


def stamp(content: bytes, address: str, post: Post) -> bytes:
    """The authority's answer for ``content``: a .tsr file, not verified yet; see :func:`verify`.

    Raises:
        ColumnError: the authority cannot be reached, or refuses.
        InputError: the extra is not installed.
    """
    client = _client()
    reply = post(address, request(content))
    try:
        status = client.decode_timestamp_response(in_order(reply)).status
    except ValueError as error:
        what = f"did not answer with a time stamp ({error})"
        raise ColumnError(sentence(address, what, "Try another authority")) from None
    if status != client.PKIStatus.GRANTED.value:
        raise ColumnError(sentence(address, f"refused to stamp (status {status})", "Try another authority"))
    return reply


def verify(reply: bytes, content: bytes, roots: Sequence[x509.Certificate], where: str | Path) -> Stamp:
    """The stamp of a .tsr file over ``content``, its chain checked up to one of ``roots``.

    Raises:
        IntegrityError: it is no stamp, was changed, is over other bytes, or leads to none of the roots.
        InputError: the extra is not installed.
    """
    client = _client()
    try:
        response: TimeStampResponse = client.decode_timestamp_response(in_order(reply))
        builder = client.VerifierBuilder(roots=list(roots))
        builder.build().verify_message(response, content)
        return Stamp(
            at=_utc(response.tst_info.gen_time),
            authority=_authority(response),
            serial=str(response.tst_info.serial_number),
        )
    except (client.VerificationError, ValueError) as error:
        raise IntegrityError(
            sentence(where, f"is no good time stamp of this ({error})", "Get it again from who published it")
        ) from None


def in_order(reply: bytes) -> bytes:
    """An answer with its certificates in the order that DER asks for; what is no answer, as it is.

    Many authorities, OpenSSL among them, send their chain in the order in which it was configured, and a strict
    reader refuses that (ITU-T X.690, 11.6). No signature covers the order, so the stamp is the same.

    >>> in_order(b"nonsense")
    b'nonsense'
    """
    try:
        start, end = 0, len(reply)
        # TimeStampResp, its ContentInfo, [0], SignedData, its certificates [0]: RFC 3161, 2.4.2; RFC 5652, 3 and 5.1.
        for nth in (0, 1, 1, 0, 3):
            _, start, end = list(_parts(reply, start, end))[nth]
    except IndexError:
        return reply
    inside = [reply[first:last] for first, _, last in _parts(reply, start, end)]
    return reply[:start] + b"".join(sorted(inside)) + reply[end:]


def _parts(content: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The DER values between two places: where each begins, where its content begins, and where both end.

    Raises:
        IndexError: what stands there is cut short.
    """
    while start < end:
        size, inner = content[start + 1], start + 2
        if size & 0x80:
            count = size & 0x7F
            size, inner = int.from_bytes(content[inner : inner + count]), inner + count
        if inner + size > end:
            raise IndexError(start)
        yield start, inner, inner + size
        start = inner + size


def read_certificates(path: Path) -> list[x509.Certificate]:
    """The certificates of a PEM file: the authorities that are trusted.

    Raises:
        InputError: the file is missing, or holds no certificate.
    """
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):
        raise InputError(
            path, "holds no certificate in PEM", "Get the authority's root certificate"
        ) from None


def post(address: str, body: bytes) -> bytes:
    """Send a request over the network and return the answer's body.

    Raises:
        ColumnError: the authority cannot be reached, or answers with an error.
    """
    import httpx2  # noqa: PLC0415 - only where something is sent

    try:
        answer = httpx2.post(address, content=body, headers={"Content-Type": QUERY}, timeout=SECONDS)
    except httpx2.HTTPError as error:
        raise ColumnError(
            sentence(address, f"cannot be reached ({type(error).__name__})", "Try again")
        ) from None
    if answer.status_code != 200:
        raise ColumnError(sentence(address, f"answered with status {answer.status_code}", "Try again later"))
    return bytes(answer.content)


def _client() -> ModuleType:
    try:
        import rfc3161_client  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError(
            "time stamps", "need what is not installed", "Run `pip install 'lacre[timestamp]'`"
        ) from None
    return rfc3161_client


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _authority(response: TimeStampResponse) -> str:
    for der in response.signed_data.certificates:
        certificate = x509.load_der_x509_certificate(der)
        usage = [e for e in certificate.extensions if e.oid == x509.ExtendedKeyUsage.oid]
        if usage:
            return certificate.subject.rfc4514_string()
    return (
        response.tst_info.name.rfc4514_string()
        if isinstance(response.tst_info.name, x509.Name)
        else "unnamed"
    )
