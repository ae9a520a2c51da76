"""``lacre vet`` of text at addresses: what may be secret in them is neither printed nor written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina
from tests.corpora.serving import Files, Server

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def address(workspace: Path) -> Iterator[str]:
    """The address of a page that holds an item, with a password and a token."""
    with stamina.set_testing(True, attempts=2, cap=True), Server(Files) as server:
        server.site.files = {"/page.txt": Path("leaks/page.txt").read_bytes()}
        yield f"http://user:segredo@{server.url.removeprefix('http://')}/page.txt?token=segredo"


def test_a_password_in_an_address_is_in_no_file_and_on_no_screen(address: str, capsys: Capture) -> None:
    assert run(["vet", "items.csv", "--corpus", address, "--out", "out"]) == Exit.FINDING
    out, err = capsys.readouterr()
    written = {path.name: path.read_text(encoding="utf-8") for path in Path("out").iterdir()}
    assert len(written) == 4
    assert [name for name, text in {**written, "out": out, "err": err}.items() if "segredo" in text] == []
    assert "page.txt: 1 document" in err
    assert run(["vet", "items.csv", "--corpus", address, "--json"]) == Exit.FINDING
    assert "segredo" not in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["gone", "refused", "twice", "column"])
def test_a_password_in_an_address_is_in_no_error(address: str, capsys: Capture, wrong: str) -> None:
    given = {"gone": address.replace("page", "nothing"), "refused": address.replace("http:", "ftp:")}.get(
        wrong, address
    )
    corpora = ["--corpus", given] * (2 if wrong == "twice" else 1)
    columns = ["--column", "nope"] if wrong == "column" else []
    run(["vet", "items.csv", *corpora, *columns])
    out, err = capsys.readouterr()
    assert err
    assert "segredo" not in out + err


def test_an_index_and_the_inventory_keep_no_address_with_a_password(address: str, capsys: Capture) -> None:
    for arguments in (["index", "build", "index", "--corpus", address], ["corpus", "add", "pages", address]):
        assert run(arguments) == Exit.BAD_INPUT
        err = capsys.readouterr().err
        assert "/page.txt: was given with a user, a password or a query" in err
        assert "segredo" not in err
    assert not Path("index").exists()
