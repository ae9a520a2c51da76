"""Files at an address (``https://``, ``s3://``, ``hf://``), read in blocks ahead of the reader and tried again when the
network fails. What a server promised and did not give is never taken for the end.

An address may hold a password or a token. It is shown, and kept, only as :func:`shown` gives it.
"""

from __future__ import annotations

import io
import logging
import re
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import IO, Any, NamedTuple, TypeVar, cast

from lacre.errors import ColumnError, InputError, sentence

BLOCK_BYTES = 4 << 20
"""Bytes asked of a server at a time."""

AHEAD = 3
"""Blocks fetched before the reader asks for them, while it reads on in order."""

HELD = AHEAD + 3
"""Blocks in memory for one file: those ahead, the present one, and two for readers that step back."""

TRIES = 6
FIRST_WAIT, LONGEST_WAIT, JITTER = 0.5, 30.0, 1.0
"""Tries of one request, and seconds between them, doubled each time."""

# stamina tells of every retry through logging; without a handler of its own that would land on stderr.
logging.getLogger("stamina").addHandler(logging.NullHandler())

Kind = TypeVar("Kind")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://")
SCHEMES = ("https", "http", "s3", "hf")
"""The addresses that are read."""
_EXTRAS = {"s3": "s3"}  # protocols that an extra of lacre brings


class Unreachable(ColumnError):  # noqa: N818 - a state of the world, not a mistake
    """A file at an address could not be reached, after all tries; it may be reached another time."""


WHOLE_ONLY = "the server gives whole files only, and this format needs parts: fetch the file"


class NoParts(OSError):  # noqa: N818
    """The server gives whole files only."""


class Short(OSError):  # noqa: N818
    """The server gave fewer bytes than it promised."""


def is_address(location: str) -> bool:
    """Whether a location is an address, not a path on this machine.

    >>> is_address("s3://bucket/a.parquet"), is_address("C:/texts"), is_address("texts/*.txt")
    (True, False, False)
    """
    return _SCHEME.match(location) is not None


def shown(location: str) -> str:
    """A location as it is shown and kept: an address without user, password and query, which may be secret.

    >>> shown("https://user:secret@host:8000/a.txt?token=abc#x"), shown("s3://key:secret@bucket/a?.txt")
    ('https://host:8000/a.txt', 's3://bucket/a?.txt')
    >>> shown("hf://datasets/owner/name@main/a.txt#pt"), shown("texts/a?b@c.txt")
    ('hf://datasets/owner/name@main/a.txt#pt', 'texts/a?b@c.txt')
    """
    found = _SCHEME.match(location)
    if found is None:
        return location
    rest = location[found.end() :]
    host, slash, path = rest.partition("/")
    if "@" not in host and "@" in rest and _NOT_A_PORT.search(host):
        # A password that holds a "/" as it is: no server can be asked so, and all of it goes.
        host, slash, path = rest.rpartition("@")[2].partition("/")
    if found[1] not in ("s3", "hf"):  # there a "?" is a pattern's
        # Where a name has no path the query follows the name.
        host, path = (re.split(r"[?#]", part, maxsplit=1)[0] for part in (host, path))
    return f"{found[0]}{host.rpartition('@')[2]}{slash}{path}"


_NOT_A_PORT = re.compile(r"(?<!\[):(?!\d*$)(?![^\[]*\])")


def refuse_secrets(location: str) -> None:
    """Refuse an address with what is not kept where the address is.

    Raises:
        InputError: it has a user, a password or a query.
    """
    if shown(location) != location:
        raise InputError(
            shown(location),
            "was given with a user, a password or a query, which may be secret and is not written down",
            "Leave it out, or fetch the file and give its path",
        )


def filesystem(location: str) -> Any:
    """The fsspec file system of an address. Where it signs in, and to which endpoint, is read from the environment.

    Raises:
        InputError: nothing here knows such addresses.
    """
    fsspec: Any = import_module("fsspec")  # only for addresses; without types
    found = _SCHEME.match(location)
    scheme = found[1] if found else "file"
    if scheme not in SCHEMES:
        raise InputError(
            shown(location),
            f"{scheme}:// cannot be read here",
            "Give https://, s3:// or hf://, or fetch the files and give their path",
        )
    if scheme == "hf":
        # It tells of every retry on stderr; what becomes of them is told in our own words.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        return fsspec.filesystem(scheme)
    except (ImportError, ValueError) as error:
        extra = _EXTRAS.get(scheme)
        todo = f"Run `pip install 'lacre[{extra}]'`" if extra else "Fetch the files, and give their path"
        why = str(error).splitlines()[0].rstrip(".")
        raise InputError(shown(location), f"{scheme}:// cannot be read here ({why})", todo) from None


def plain(location: str) -> str:
    """An address as its file system wants it."""
    return location if location.startswith(("http://", "https://")) else location.partition("://")[2]


def faults() -> tuple[type[Exception], ...]:
    """What file systems raise when the network, or a server, fails."""
    import aiohttp  # noqa: PLC0415 - only for addresses
    import httpx2  # noqa: PLC0415

    found: list[type[Exception]] = [OSError, aiohttp.ClientError, httpx2.HTTPError]
    botocore = sys.modules.get("botocore.exceptions")
    if botocore is not None:
        found += [botocore.BotoCoreError, botocore.ClientError]
    return tuple(found)


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error tells of, if it does."""
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        if isinstance(response, dict):  # botocore's
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            return status if isinstance(status, int) else None
        for status in (getattr(one, "status", None), getattr(response, "status_code", None)):
            if isinstance(status, int):
                return status
    return None


def may_pass(error: BaseException) -> bool:
    """Whether it makes sense to try again after an error: the server was busy, or the line broke."""
    status = status_of(error)
    if status is not None:
        return status in (408, 425, 429) or status >= 500
    if isinstance(error, NoParts | PermissionError | ValueError):
        return False
    # fsspec says "not found" of a server that does not answer; then the cause tells better.
    return not isinstance(error, FileNotFoundError) or error.__cause__ is not None


def reason(error: BaseException) -> str:
    """What an error says, in a few words of ours where it is a usual one; without addresses, which may hold keys.

    >>> reason(PermissionError(13, "Permission denied"))
    'Permission denied'
    >>> reason(ConnectionRefusedError("Connect call failed"))
    'Connect call failed'
    """
    status = status_of(error)
    if words := _words_for(error):
        return words
    if status in (401, 403):
        return f"the server asks for an account, or for its owner's consent (HTTP {status})"
    if status == 404:
        return "not found (HTTP 404)"
    if status is not None:
        return f"the server answers HTTP {status}"
    cause = error.__cause__ if isinstance(error, FileNotFoundError) and error.__cause__ else error
    if isinstance(cause, FileNotFoundError):
        return "not found"
    if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, NoParts | Short):
        return _ADDRESS.sub("…", cause.strerror)
    first = str(cause).partition("\n")[0].strip().rstrip(".")
    return _ADDRESS.sub("…", first) or type(cause).__name__


_WORDS = {
    "NoSuchBucket": "there is no such bucket",
    "InvalidURL": "the address cannot be understood",
    "ClientPayloadError": "the answer broke off",
    "ServerDisconnectedError": "the server hung up",
    "RemoteProtocolError": "the server hung up",
    "ConnectionClosedError": "the server hung up",
    "EndpointConnectionError": "nobody answers there",
    "ClientConnectorError": "nobody answers there",
    "ConnectError": "nobody answers there",
    "NoCredentialsError": "no account is given",
    "TimeoutError": "no answer in time",
    "TimeoutException": "no answer in time",
    "HTTPClientError": "the line broke",
}
"""Libraries' errors, by their own names or a server's code, in our words."""


def _words_for(error: BaseException) -> str:
    for one in (error, error.__cause__):
        response = getattr(one, "response", None)
        code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
        for name in (code, *(kind.__name__ for kind in type(one).__mro__)):
            if name in _WORDS:
                return _WORDS[name]
    return ""


_ADDRESS = re.compile(r"\b[a-z][a-z0-9+]*://\S+")


def tried(location: str, work: Callable[[], Kind]) -> Kind:
    """What ``work`` returns, tried again with growing waits while its error may pass.

    Raises:
        Unreachable: the last error, in words.
    """
    import stamina  # noqa: PLC0415 - only for addresses

    known = faults()

    def again(error: Exception) -> bool:
        return isinstance(error, known) and may_pass(error)

    try:
        for attempt in stamina.retry_context(
            on=again,
            attempts=TRIES,
            timeout=None,
            wait_initial=FIRST_WAIT,
            wait_max=LONGEST_WAIT,
            wait_jitter=JITTER,
        ):
            with attempt:
                return work()
    except NoParts:
        raise
    except known as error:
        todo = "Check the address and the network" if may_pass(error) else "Check the address and the account"
        raise Unreachable(sentence(shown(location), reason(error), todo)) from None
    raise AssertionError("a retry ends with a value or an error")


class Status(NamedTuple):
    """What a server says of a file: bytes (none when it does not say), mark of change, whether it gives parts."""

    size: int | None
    mark: str
    parts: bool


_MARKS = (
    "ETag",
    "etag",
    "blob_id",
    "md5",
    "Content-MD5",
    "LastModified",
    "Last-Modified",
    "mtime",
    "updated",
)


def status(details: Mapping[str, object]) -> Status:
    """What fsspec's details of a file say."""
    size = details.get("size")
    mark = next((str(details[name]) for name in _MARKS if details.get(name)), "")
    return Status(size if isinstance(size, int) else None, mark, details.get("partial", True) is not False)


def look(location: str) -> Status:
    """What the server says of the file at an address.

    Raises:
        Unreachable: it cannot be reached.
    """
    system = filesystem(location)
    return status(tried(location, lambda: system.info(plain(location))))


def open_address(location: str, size: int | None = None) -> IO[bytes]:
    """The bytes at an address, from the first; seekable where the server gives parts.

    Raises:
        Unreachable: it cannot be reached.
    """
    known = look(location) if size is None else Status(size, "", parts=True)
    if known.parts and known.size is not None:
        return cast("IO[bytes]", AddressFile(location, known.size))
    return cast("IO[bytes]", Stream(location, known.size))


class Stream(io.RawIOBase):
    """A file that the server gives whole only: read in order. When the line breaks it is read again up to there."""

    def __init__(self, location: str, size: int | None, position: int = 0) -> None:
        super().__init__()
        self._location = location
        self._system = filesystem(location)
        self._size = size
        self._position = position
        self._file: Any = None

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Bytes read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:  # noqa: ARG002 - as of any file
        """Raises :class:`NoParts`: it is read in order."""
        raise NoParts(WHOLE_ONLY)

    def read(self, size: int | None = -1) -> bytes:
        """The next ``size`` bytes or fewer; none at the end.

        Raises:
            Unreachable: the line broke, again and again.
        """
        wanted = BLOCK_BYTES if size is None or size < 0 else size
        block = tried(self._location, lambda: self._next(wanted))
        self._position += len(block)
        return block

    def _next(self, wanted: int) -> bytes:
        try:
            if self._file is None:
                self._file = self._system.open(plain(self._location), "rb", block_size=0)
                self._skip(self._position)
            block: bytes = self._file.read(wanted) if wanted else b""
        except faults():
            self._drop()
            raise
        if wanted and not block and self._size is not None and self._position < self._size:
            self._drop()
            raise Short(f"the server promised {self._size:,} bytes and gave {self._position:,}")
        return block

    def _skip(self, left: int) -> None:
        while left:
            passed = len(self._file.read(min(left, BLOCK_BYTES)))
            if not passed:
                raise Short(f"the server gave {self._position - left:,} bytes, fewer than before")
            left -= passed

    def _drop(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """Let go of the connection."""
        self._drop()
        super().close()


class AddressFile(io.RawIOBase):
    """A file of which the server gives parts. Read in order, its next blocks are fetched before they are asked for."""

    def __init__(self, location: str, size: int) -> None:
        super().__init__()
        self._location = location
        self._system = filesystem(location)
        self._size = size
        self._position = 0
        self._pool = ThreadPoolExecutor(AHEAD)
        self._blocks: OrderedDict[int, Future[bytes]] = OrderedDict()
        self._last = -2
        self._local = threading.local()
        self._opened: list[Any] = []
        self._stream: Stream | None = None  # where the server turned out to give whole files only
        self._from_end = False  # whether the reader begins at the end, as readers of Parquet do

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place from which the next bytes come."""
        return self._position

    def size(self) -> int:
        """Bytes in all."""
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        self._from_end |= whence == io.SEEK_END
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """The next ``size`` bytes; fewer only at the end.

        Raises:
            Unreachable: they could not be fetched.
            NoParts: the server gives whole files only, and the reader went elsewhere than on.
        """
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        parts: list[bytes] = []
        while self._position < end:
            part = self._part(end)
            parts.append(part)
            self._position += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _part(self, end: int) -> bytes:
        if self._stream is None:
            number, at = divmod(self._position, BLOCK_BYTES)
            try:
                return self._block(number)[at : at + end - self._position]
            except NoParts:
                if self._from_end:
                    raise NoParts(WHOLE_ONLY) from None
                self._stream = Stream(self._location, self._size, self._position)
        if self._stream.tell() != self._position:
            raise NoParts(WHOLE_ONLY)
        return self._stream.read(end - self._position)

    def _block(self, number: int) -> bytes:
        wanted = [number]
        if number == self._last + 1:  # read in order
            last = (self._size - 1) // BLOCK_BYTES
            wanted += range(number + 1, min(number + AHEAD, last) + 1)
        for one in wanted:
            if one not in self._blocks:
                self._blocks[one] = self._pool.submit(self._fetched, one)
        self._last = number if number != self._last else self._last
        self._blocks.move_to_end(number)
        while len(self._blocks) > HELD:
            self._blocks.popitem(last=False)[1].cancel()
        block = self._blocks[number]
        try:
            return block.result()
        except (Unreachable, NoParts):
            self._blocks.pop(number, None)  # the next to ask tries again
            raise

    def _fetched(self, number: int) -> bytes:
        """One block, in whatever parts the server gives it."""
        start = number * BLOCK_BYTES
        end = min(start + BLOCK_BYTES, self._size)
        got = bytearray()

        def more() -> None:
            got.extend(self._range(start + len(got), end))
            if len(got) < end - start:
                at = start + len(got)
                raise Short(f"the server promised {self._size:,} bytes, and its answer ends at {at:,}")

        tried(self._location, more)
        return bytes(got)

    def _range(self, start: int, end: int) -> bytes:
        file = getattr(self._local, "file", None)
        try:
            if file is None:
                file = self._system.open(
                    plain(self._location), "rb", size=self._size, block_size=BLOCK_BYTES, cache_type="none"
                )
                self._opened.append(file)
                self._local.file = file
            file.seek(start)
            found: bytes = file.read(end - start)
        except ValueError as error:
            # fsspec's word for an answer that is the whole file.
            raise NoParts(str(error)) from None
        except faults():
            self._local.file = None
            raise
        if len(found) > end - start:
            raise NoParts("the server gave more than was asked")
        return found

    def close(self) -> None:
        """Let go of what was fetched, and of the connections."""
        if not self.closed:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._blocks.clear()
            for file in self._opened:
                file.close()
            if self._stream is not None:
                self._stream.close()
        super().close()
