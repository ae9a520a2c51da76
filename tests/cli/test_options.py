"""What options that several commands share have in common."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from lacre.cli.options import given, together


@click.command()
@together(
    [click.option("--first", default="1"), click.option("--second", default="2"), click.option("--third")]
)
def shared(**values: str | None) -> None:
    click.echo(" ".join(name for name in values if given(name)))


def test_the_help_lists_shared_options_in_their_order() -> None:
    shown = CliRunner().invoke(shared, ["--help"]).output
    places = [shown.index(option) for option in ("--first", "--second", "--third")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("words", "told"),
    [([], ""), (["--first", "1"], "first"), (["--third", "x", "--second", "3"], "third second")],
)
def test_an_option_is_given_where_it_was_written_be_it_with_its_default(words: list[str], told: str) -> None:
    assert set(CliRunner().invoke(shared, words).output.split()) == set(told.split())
