"""A sealed run of marked items in a process of its own, with a fault, watched from outside."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.engine.server import (
    Act,
    Drop,
    Hang,
    Limit,
    Reset,
    Say,
    Script,
    Seen,
    Send,
    Server,
    Trickle,
    always,
)
from tests.hygiene.scanning import hits
from tests.sealed.making import Sealing, sealing
from tests.sealing.making import private
from tests.untraced import untraced

from lacre.registry.items import Part, Payload

IN_ITEM, IN_KEY, IN_CRITERION, IN_REPLY = (
    "jabuticabeira assombrada à meia-noite",
    "três corujas de louça azul",
    "menção ao bonde das Laranjeiras",
    "resposta: o canário não cantou ontem",
)
MARKERS = (IN_ITEM, IN_KEY, IN_CRITERION, IN_REPLY)
PLACES = ("workspace", "vault", "home", "temp", "cache", "cores", "screen")
"""Where markers are looked for: ``cores`` are core files anywhere, ``screen`` is stdout and stderr."""

_WRITES = re.compile(r'\b(?:openat|open|creat)\((?:AT_FDCWD, |\d+(?:<[^>]*>)?, )?"((?:[^"\\]|\\.)*)"(.*)')
TRACED = (
    "trace=openat,open,creat,openat2,rename,renameat,renameat2,mkdir,mkdirat,symlink,link,linkat,memfd_create"
)
STRACE = shutil.which("strace")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong.

    Attributes:
        script: what the server does. ``before``: done to the stage first. ``driver``: Python run before the command.
        options, environment: of the interpreter.
        kill: sent once the first request is there. ``codes``: exit codes that the command may end with.
        resumed: whether the run can be gone on with afterwards.
        concurrency: messages asked at once; more where every one of them is waited for in vain.
    """

    name: str
    script: Script
    codes: tuple[int, ...]
    before: Callable[[Sealing], None] = lambda _: None
    driver: str = ""
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    kill: signal.Signals | None = None
    resumed: bool = True
    concurrency: int = 1


def marked(seen: Seen) -> Act:
    """An answer with a marker in it."""
    return Say(text=f"{IN_REPLY}\nAlternativa B.\nConfiança: 70%")


def echoing(status: int) -> Script:
    """An error that says back all that it was sent, and a marker."""
    return lambda seen: Send.json(
        status, {"error": {"message": f"{IN_REPLY} {seen.text}", "type": seen.text}}
    )


def once(first: Act, then: Script = marked) -> Script:
    """One act, then others."""
    acts = iter([first])
    return lambda seen: next(acts, None) or then(seen)


def undefined_name(sealed: Sealing) -> None:
    place = sealed.root / "registry/templates/choice.txt"
    place.parent.mkdir(exist_ok=True)
    place.write_text("{{stem}}\n{{options}}\n{{nome}}\nConfiança (0-100):\n", encoding="utf-8")


def retired_key(sealed: Sealing) -> None:
    from lacre.registry import ledger as ledgers  # noqa: PLC0415
    from lacre.registry.events import KeyRetire  # noqa: PLC0415

    event = KeyRetire(fingerprint=sealed.play.key.fingerprint, reason="lost")
    ledgers.append(
        sealed.root / "registry/ledger.jsonl", event, at="2020-02-01T00:00:00Z", signer=sealed.play.key
    )


def damaged_item(sealed: Sealing) -> None:
    place = next((sealed.play.vault_folder / "items").iterdir())
    content = bytearray(place.read_bytes())
    content[-1] ^= 1
    place.write_bytes(content)


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9216, 9216))"  # two frames, and no more
LOGGING = "import logging; logging.basicConfig(level=1); logging.getLogger('httpx2').setLevel(1)"
CRASHING = """
import httpx2
def crash(self, method, url, headers=None, content=None):
    raise ValueError('cannot send', method, url, headers, content)
httpx2.AsyncClient.stream = crash
"""
UNCAUGHT = """
import threading, lacre.sealing.logs as logs
def crash(self, lines):
    threading.Thread(target=lambda: 1 / len(b''.join(lines)[:0])).start()
    raise KeyError(b''.join(lines))
logs.SealedLog.append = crash
"""
SAID = b"\xff\xfe" + IN_REPLY.encode()
PARAMETER = Send.json(400, {"error": {"message": "no", "param": IN_REPLY, "code": "unsupported_parameter"}})
FAULTS = (
    Fault(name="none", script=marked, codes=(0,), resumed=False),
    Fault(name="error 500 that echoes", script=echoing(500), codes=(4,), concurrency=8),
    Fault(name="error 400 that echoes", script=echoing(400), codes=(4,)),
    Fault(name="revoked key of the column (401)", script=echoing(401), codes=(4,)),
    Fault(name="refused access (403)", script=echoing(403), codes=(4,)),
    Fault(
        name="rate limit without end", script=always(Limit({"retry-after": "60"})), codes=(4,), concurrency=8,
    ),
    Fault(name="no answer in time", script=always(Hang(20)), codes=(4,), concurrency=8),
    Fault(name="an answer byte by byte", script=always(Trickle(0.2, 500)), codes=(4,), concurrency=8),
    Fault(name="connection reset", script=always(Reset()), codes=(4,), concurrency=8),
    Fault(name="connection closed", script=always(Drop()), codes=(4,), concurrency=8),
    Fault(
        name="HTML with status 200", script=always(Send(body=SAID[2:], kind="text/html")), codes=(4,), concurrency=8,
    ),
    Fault(name="bytes that are no text", script=always(Send(body=SAID)), codes=(4,), concurrency=8),
    Fault(
        name="an answer cut short", script=always(Send(body=SAID[2:], length=9999)), codes=(4,), concurrency=8,
    ),
    Fault(
        name="no candidates", script=always(Send.json(200, {"choices": [], "x": IN_REPLY})), codes=(4,), concurrency=8,
    ),
    Fault(name="a refusal", script=always(Say(text=IN_REPLY, finish="content_filter")), codes=(0,), resumed=False),
    Fault(
        name="an end that echoes", script=always(Say(text="Alternativa B.", finish=IN_REPLY)), codes=(0,),
        resumed=False,
    ),
    Fault(name="a parameter that echoes", script=always(PARAMETER), codes=(4,)),
    Fault(name="an answer that the rule cannot read", script=always(Say(text=IN_REPLY)), codes=(5,)),
    Fault(name="kill -9", script=once(Hang(20)), codes=(-9,), kill=signal.SIGKILL),
    Fault(name="interrupt", script=once(Hang(20)), codes=(130,), kill=signal.SIGINT),
    Fault(name="abort signal (core)", script=once(Hang(20)), codes=(-6,), kill=signal.SIGABRT),
    Fault(name="full disk", script=marked, codes=(5,), driver=FULL),
    Fault(name="retired key of the ledger", script=marked, codes=(2,), before=retired_key, resumed=False),
    Fault(name="template with an undefined name", script=marked, codes=(2,), before=undefined_name, resumed=False),
    Fault(name="damaged item", script=marked, codes=(3,), before=damaged_item, resumed=False),
    Fault(name="a debugger's log level", script=marked, codes=(0,), driver=LOGGING, resumed=False),
    Fault(
        name="PYTHONWARNINGS, -X dev, asyncio debug", script=once(Reset()), codes=(0,), options=("-X", "dev"),
        environment={"PYTHONWARNINGS": "always", "PYTHONASYNCIODEBUG": "1", "SSLKEYLOGFILE": "keys.log"},
        resumed=False,
    ),
    Fault(name="crash in the client library", script=marked, codes=(5,), driver=CRASHING),
    Fault(name="crash in writing, and in a thread", script=marked, codes=(5,), driver=UNCAUGHT),
)  # fmt: skip


def stage(folder: Path, endpoint: str, concurrency: int = 1) -> Sealing:
    """A workspace with four marked items, and folders for what a process may write to by habit."""
    choice = Payload(kind="choice", stem=f"Quem viu a {IN_ITEM}?", options={"A": "Ana", "B": IN_KEY}, key="B")
    again = Payload(
        kind="choice", stem=f"E quem ouviu a {IN_ITEM}?", options={"A": IN_KEY, "B": "Rui"}, key="A"
    )
    part = Part(
        id="a",
        prompt=f"Explique a {IN_ITEM}.",
        expected=IN_KEY,
        criteria=(IN_CRITERION,),
    )
    essay = Payload(kind="open", stem=f"Leia sobre a {IN_ITEM}.", parts=(part,))
    cell = {"area": "saude", "difficulty": "facil"}
    new = [private(f"m{n}", payload=each, cell=cell) for n, each in enumerate((choice, again, essay))]
    sealed = sealing(folder, endpoint, 0, more=new)
    card = sealed.root / "registry/columns.toml"
    card.write_text(
        card.read_text()
        .replace("timeout = 5", "timeout = 1")
        .replace("concurrency = 4", f"concurrency = {concurrency}")
    )
    for name in ("home", "temp", "cache", "screen"):
        (folder / name).mkdir()
    return sealed


@dataclass
class Watched:
    """A command that ran: its exit code, what it said, files that it opened for writing, and those it should not."""

    code: int
    said: str
    written: list[str]
    strays: list[str]


def watched(
    folder: Path, words: Sequence[str], fault: Fault, server: Server, *, nth: int, faulty: bool = True
) -> Watched:
    """Run a command of lacre in a process of its own, under strace where there is one."""
    trace = folder / f"trace-{nth}"
    driver = fault.driver if faulty else ""
    program = f"{driver}\nimport sys\nfrom lacre.cli import run\nsys.exit(run(sys.argv[1:]))"
    options = [*(fault.options if faulty else ()), "-c", program]
    call = [sys.executable, *options, *words]
    if STRACE is not None:
        call = [STRACE, "-f", "-qq", "--seccomp-bpf", "-s", "4096", "-e", TRACED, "-o", str(trace), *call]
    environment = {name: value for name, value in untraced().items() if not name.startswith("XDG_")} | {
        "HOME": str(folder / "home"), "TMPDIR": str(folder / "temp"), "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1", **(fault.environment if faulty else {}),
    }  # fmt: skip
    with (folder / f"screen/out-{nth}").open("wb") as out, (folder / f"screen/err-{nth}").open("wb") as err:
        child = subprocess.Popen(
            call, cwd=folder / "workspace", env=environment, stdout=out, stderr=err, start_new_session=True
        )
        if fault.kill is not None and faulty:
            _signal(child, fault.kill, server)
        code = child.wait(120)
    said = "".join((folder / f"screen/{name}-{nth}").read_text(errors="replace") for name in ("out", "err"))
    written = _written(trace.read_text(errors="replace"), folder) if trace.exists() else []
    trace.unlink(missing_ok=True)
    return Watched(code, said, written, [path for path in written if not _allowed(Path(path), folder)])


def _signal(child: subprocess.Popen[bytes], kind: signal.Signals, server: Server) -> None:
    """Send a signal to the process under strace once the server has its first request."""
    for _ in range(600):
        if server.requests:
            break
        time.sleep(0.1)
    below = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(child.pid)], capture_output=True, text=True, check=False
    ).stdout.split()
    os.kill(int(below[0]) if STRACE is not None else child.pid, kind)


def _written(trace: str, folder: Path) -> list[str]:
    """Files that were opened for writing, by a trace of system calls."""
    found = []
    for line in trace.splitlines():
        if "memfd_create" in line:
            found.append(line)
        elif (match := _WRITES.search(line)) and re.search(r"O_WRONLY|O_RDWR|O_CREAT|creat\(", line):
            found.append(os.path.normpath(folder / "workspace" / match[1]))
    return found


def _allowed(path: Path, folder: Path) -> bool:
    """Whether a file is of the vault, or one of the public files that a sealed run has."""
    root = folder / "workspace"
    own = path.is_relative_to(folder / "vault") or path.is_relative_to(root / "registry/exemplo/private")
    ledger = path.parent == root / "registry" and path.name.startswith((".ledger.jsonl.", "ledger.jsonl"))
    return own or ledger or str(path) in ("/dev/null", "/dev/tty")


def counted(folder: Path) -> dict[str, int]:
    """How many files hold a marker, by place."""
    found = {place: len(hits([folder / place], MARKERS)) for place in PLACES if place != "cores"}
    return found | {"cores": sum("core" in path.name and path.is_file() for path in _outside(folder))}


def _outside(folder: Path) -> list[Path]:
    return [
        path for place in ("workspace", "home", "temp", "cache") for path in (folder / place).rglob("*core*")
    ]


def run_name(folder: Path) -> str | None:
    """The run of the ledger, if one began."""
    for line in (folder / "workspace/registry/ledger.jsonl").read_text().splitlines():
        event = json.loads(line)["event"]
        if event["type"] == "run_intent":
            return str(event["run"])
    return None


def row(name: str, found: Mapping[str, int], strays: int | None) -> str:
    """A line of the table of the documentation."""
    cells = [str(found[place]) for place in PLACES]
    return f"| {name} | " + " | ".join([*cells, "not watched" if strays is None else str(strays)]) + " |"
