"""``lacre release`` as a person types it, with the real guard over the real vault."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from huggingface_hub import constants
from tests.cli.release_stage import released
from tests.cli.round_stage import HERE, staged
from tests.release.hub import serving
from tests.release.making import public_items, ready
from tests.release.resigning import read
from tests.rotation.making import Stage
from tests.sealing.making import private

from lacre import jsonl
from lacre.cli import run
from lacre.digest import sha256
from lacre.errors import Exit
from lacre.registry import ledger as ledgers
from lacre.registry.items import Image, Item, Passage, Payload
from lacre.release.verify import LEDGER, verify

SECRET = "O guarda-chuva violeta do violoncelista sumiu na segunda barca das onze e meia"
SHORT = "Quantos bules amarelos o ourives banguela poliu?"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*more: bytes) -> bytes:
    """A picture of one grey point."""
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return head + b"".join(more) + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")


PICTURE = png()
BUILD = ["--key", "../team.key", "--vault", "../vault", "--identity", "../operator.txt"]


def secrets() -> list[Item]:
    """Private items of every kind that must not get out."""
    long = Payload(kind="open", stem=f"{SECRET}. Quem o levou?", key="O maquinista")
    short = Payload(kind="open", stem=SHORT, key="Sete")
    image = Payload(
        kind="open",
        stem="Descreva em detalhe a figura anexa, da esquerda para a direita.",
        key="Um bule",
        images=(Image(file="bule.png", sha256=sha256(PICTURE)),),
    )
    return [
        msgspec.structs.replace(private(id, cell=HERE), payload=payload)
        for id, payload in (("s-long", long), ("s-short", short), ("s-image", image))
    ]


@pytest.fixture
def play(workspace: Path) -> Stage:
    stage = staged(workspace)
    ready(workspace)
    stage.add(secrets(), "s1")
    return stage


def build(name: str = "r1", *more: str) -> int:
    return run(["release", "build", name, *BUILD, *more])


def in_a_template(root: Path) -> tuple[str, ...]:
    folder = root / "registry/templates"
    folder.mkdir(exist_ok=True)
    text = files("lacre.engine").joinpath("templates", "choice.txt").read_text(encoding="utf-8")
    (folder / "choice.txt").write_text(f"Exemplo: {SECRET}\n{text}", encoding="utf-8")
    return ()


def in_a_csv_in_a_zip(root: Path) -> tuple[str, ...]:
    with zipfile.ZipFile(root / "tabelas.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/b.csv", f"id,texto\n1,{SECRET.upper()}\n")
    return ("--results", "tabelas.zip")


def in_a_base64_field(root: Path) -> tuple[str, ...]:
    text = base64.b64encode(f"abc {SECRET}".encode()).decode()
    (root / "campos.json").write_text(json.dumps({"campo": text}), encoding="utf-8")
    return ("--results", "campos.json")


def in_a_picture_s_metadata(root: Path) -> tuple[str, ...]:
    (root / "figura.png").write_bytes(png(chunk(b"tEXt", b"Comment\0" + SECRET.encode("latin-1"))))
    return ("--results", "figura.png")


def seven_words(root: Path) -> tuple[str, ...]:
    (root / "nota.md").write_text(f"# Nota\n\n{SHORT.lower()}\n", encoding="utf-8")
    return ("--results", "nota.md")


def a_private_picture(root: Path) -> tuple[str, ...]:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("x.png", PICTURE)
    (root / "anexos.zip").write_bytes(out.getvalue())
    return ("--results", "anexos.zip")


PLANTS = [
    in_a_template,
    in_a_csv_in_a_zip,
    in_a_base64_field,
    in_a_picture_s_metadata,
    seven_words,
    a_private_picture,
]


@pytest.mark.usefixtures("play")
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_private_item_is_refused_by_name_and_never_quoted(
    workspace: Path, capsys: pytest.CaptureFixture[str], plant: Callable[[Path], tuple[str, ...]]
) -> None:
    more = plant(workspace)
    before = ledgers.read(workspace / LEDGER).size
    assert build("r1", *more) != Exit.CLEAN
    told = capsys.readouterr()
    item = {"seven_words": "s-short", "a_private_picture": "s-image"}.get(plant.__name__, "s-long")
    assert item in told.err
    for text in (told.out, told.err):
        assert "violoncelista" not in text.casefold()
        assert "banguela" not in text.casefold()
    assert ledgers.read(workspace / LEDGER).size == before
    assert not (workspace / "releases/r1").exists()
    assert not any(
        "violoncelista" in str(path.read_bytes())
        for path in workspace.parent.rglob("*.part")
        if path.is_file()
    )


@pytest.mark.usefixtures("play")
def test_a_clean_release_is_built_verified_published_and_compared(
    workspace: Path, capsys: pytest.CaptureFixture[str], play: Stage
) -> None:
    assert build("r1") == Exit.CLEAN
    told = capsys.readouterr()
    assert f"signed by key {play.key.fingerprint}" in told.out
    assert "The guard looked for 11 private items and found none" in told.err
    assert "left out" not in told.err
    assert run(["release", "verify", "releases/r1", "--key", play.key.fingerprint]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[0] == "releases/r1"
    assert build("r1") == Exit.BAD_INPUT
    assert "was made before" in capsys.readouterr().err
    assert build("r2", "--json", "--next-due", "2099-01-01T00:00Z") == Exit.CLEAN
    built = json.loads(capsys.readouterr().out)
    assert (built["release"], built["guarded"]) == ("r2", 11)
    assert run(["release", "verify", "releases/r2.tar", "--previous", "releases/r1", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["verdict"] == "authentic"
    assert run(["release", "diff", "releases/r1", "releases/r2"]) == Exit.FINDING
    assert "registry/ledger.jsonl" in capsys.readouterr().out
    assert run(["release", "diff", "releases/r1", "releases/r1.tar", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["differences"] == []


@pytest.mark.usefixtures("play")
def test_items_that_opened_go_out(workspace: Path, capsys: pytest.CaptureFixture[str], play: Stage) -> None:
    play.vet(play.public.rows)
    play.freeze(forced={"s-image": "exposure"})
    play.close()
    assert build("r1") == Exit.BAD_INPUT
    assert "image 'bule.png' is not there" in capsys.readouterr().err
    (workspace / "registry/exemplo/open/bule.png").write_bytes(PICTURE)
    assert build("r1") == Exit.CLEAN, capsys.readouterr().err
    assert "registry/exemplo/open/closing-0001.jsonl" in read(Path("releases/r1"))
    assert run(["release", "verify", "releases/r1"]) == Exit.FINDING
    assert "1 draw repeated, with the same result" in capsys.readouterr().out


def test_what_verification_says_of_a_copy_is_its_exit_code(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    released(workspace)
    assert run(["release", "verify", "releases/first"]) == Exit.FINDING
    assert capsys.readouterr().out.splitlines()[-1] == "integrity only"
    (workspace / "releases/first/README.md").write_bytes(b"x")
    assert run(["release", "verify", "releases/first"]) == Exit.INTEGRITY
    assert "README.md: is not the file" in capsys.readouterr().out
    assert run(["release", "verify", "releases/none"]) == Exit.INTEGRITY
    assert run(["release", "verify", "releases/first", "--key", "abc"]) == Exit.BAD_INPUT
    assert run(["release", "verify", "http://127.0.0.1:9/r.tar"]) == Exit.COLUMN
    capsys.readouterr()


def test_publishing_shows_first_and_sends_with_yes(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    released(workspace)
    for to in ("../mirror", "hf://datasets/equipe/exemplo"):
        assert run(["release", "publish", "releases/first", "--to", to]) == Exit.CLEAN
        assert "Nothing was sent" in capsys.readouterr().err
        assert run(["release", "publish", "releases/first", "--to", to, "--json"]) == Exit.CLEAN
        assert json.loads(capsys.readouterr().out)["dry_run"] is True
    assert not (workspace.parent / "mirror").exists()
    assert run(["release", "publish", "releases/first", "--to", "../mirror", "--yes"]) == Exit.CLEAN
    assert "package" in capsys.readouterr().out
    assert read(workspace.parent / "mirror/first") == read(workspace / "releases/first")
    assert run(["release", "publish", "releases/first", "--to", "hf://datasets/exemplo"]) == Exit.BAD_INPUT
    capsys.readouterr()


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_publishing_to_the_hub_pins_the_revision(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    released(workspace)
    with serving() as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", "hf_none")
        to = ["--to", "hf://datasets/equipe/exemplo", "--yes", "--json"]
        assert run(["release", "publish", "releases/first", *to]) == Exit.CLEAN, capsys.readouterr().err
        done = json.loads(capsys.readouterr().out)
    assert done["revision"] == hub.head("equipe/exemplo").oid == hub.tags["equipe/exemplo"]["first"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--at", "ontem"], "is no time"),
        (["--next-due", "2027-01-01T00:00"], "says no time zone"),
        (["--benchmark", "nada"], "no benchmark 'nada'"),
    ],
)
@pytest.mark.usefixtures("play")
def test_what_cannot_be_built_is_said(
    capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert build("r1", *options) == Exit.BAD_INPUT
    assert says in capsys.readouterr().err


@pytest.mark.usefixtures("play")
def test_with_sealed_items_the_guard_needs_the_vault(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "build", "r1", "--key", "../team.key"]) == Exit.BAD_INPUT
    assert "has sealed items, and the release must hold none" in capsys.readouterr().err


def test_without_sealed_items_no_vault_is_needed(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ready(workspace)
    assert run(["key", "new", "--name", "team", "--out", "../team.key"]) == Exit.CLEAN
    assert run(["release", "build", "r1", "--key", "../team.key"]) == Exit.CLEAN, capsys.readouterr().err
    assert verify("releases/r1").verdict == "integrity only"
    (workspace / "registry/exemplo/benchmark.toml").unlink()
    assert run(["release", "build", "r2", "--key", "../team.key"]) == Exit.BAD_INPUT
    assert "has no benchmark yet" in capsys.readouterr().err


STATUTES = [
    "É livre a manifestação do pensamento, sendo vedado o anonimato",
    "A casa é asilo inviolável do indivíduo, ninguém nela podendo penetrar sem consentimento do morador",
    "Ninguém será obrigado a fazer ou deixar de fazer alguma coisa senão em virtude de lei",
    "A lei não prejudicará o direito adquirido, o ato jurídico perfeito e a coisa julgada",
]


def test_a_hundred_private_items_that_quote_statutes_beside_open_ones_that_quote_them_build_cleanly(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = staged(workspace)
    ready(workspace)
    sealed = []
    for n in range(100):
        statute = STATUTES[n % len(STATUTES)]
        payload = Payload(
            kind="choice",
            stem=f"O artigo citado aplica-se ao caso número {n} da comarca de Pedra Lisa?",
            options={"A": f"Sim, pela razão {n}", "B": f"Não, pela razão {n + 1}"},
            key="A",
            passage=Passage(text=f"{statute}.", source="https://example.org/constituicao"),
        )
        sealed.append(msgspec.structs.replace(private(f"l{n:03d}", cell=HERE), payload=payload))
    stage.add(sealed, "leis")
    _, opened = public_items()
    quoting = [
        msgspec.structs.replace(
            opened[0],
            id=f"q{n}",
            payload=msgspec.structs.replace(
                opened[0].payload,
                stem=f"Segundo a Constituição, {statute.lower()}. Isso vale no balcão {n}?",
                passage=None,
            ),
        )
        for n, statute in enumerate(STATUTES)
    ]
    jsonl.write(workspace / "registry/exemplo/open/items.jsonl", [*opened, *quoting])
    assert build("r1") == Exit.CLEAN, capsys.readouterr().err
    assert "looked for 108 private items and found none" in capsys.readouterr().err
