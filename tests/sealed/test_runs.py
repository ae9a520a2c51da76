"""Sealed runs from their beginning to their end: what is written before, what leaves after (SPEC X4 X5)."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.making import HASTY
from tests.engine.server import Say, Seen, Send, Server, always
from tests.rotation.making import lottery
from tests.sealed.making import TERMS, Sealing, items, sealing, varied
from tests.sealing.making import private

from lacre.engine.journal import Halted
from lacre.engine.messages import read_templates
from lacre.engine.plans import Repetitions
from lacre.engine.runs import ColumnState, Progress, RunState
from lacre.errors import IncompleteError, InputError, IntegrityError
from lacre.registry import ledger as ledgers
from lacre.registry.columns import Price
from lacre.registry.events import Exposure, RunAbort, RunIntent, RunResult
from lacre.registry.items import Image, Part, Payload
from lacre.registry.sealed_runs import sealed_runs, strays
from lacre.rotation.steps import void_items
from lacre.sealed.called import called
from lacre.sealed.counts import Exact
from lacre.sealed.ending import REPLIES, SCORES, GivenUp, give_up, scores_of, tidy
from lacre.sealed.protection import shielded
from lacre.sealed.records import document, public_bytes, read_run, read_tables, run_place, tables_place
from lacre.sealed.running import Means, Told, session, shown, told
from lacre.sealed.starting import PLAN, begin, kept_run, plan_of, refuse_unlike, renewed
from lacre.sealing.disk import Disk
from lacre.sealing.inspection import inspect
from lacre.sealing.keys import key_from
from lacre.sealing.logs import SealedLog
from lacre.sealing.marks import mark_path
from lacre.sealing.seen import LogSeen
from lacre.sealing.vault import Vault


def events(sealed: Sealing, kind: type) -> list[Any]:
    return [line.event for line in sealed.play.public.ledger.lines if isinstance(line.event, kind)]


def test_a_run_tells_its_intent_first_and_its_counts_last(sealed: Sealing, server: Server) -> None:
    record = sealed.run()
    lines = sealed.play.public.ledger.lines
    kinds = [type(line.event) for line in lines[-4:]]
    assert kinds == [RunIntent, Exposure, Exposure, RunResult]
    assert all(line.sig for line in lines[-4:])
    assert len(server.seen) == 120
    assert [count.cell for count in record.counts] == ["all", "area=direito", "area=saude"]
    whole = record.counts[0]
    assert isinstance(whole, Exact)
    assert sum(whole.classes.values()) == whole.items == record.leaves == 120
    assert read_run(sealed.root / run_place("exemplo", record.run)) == record
    shown = {item for event in events(sealed, Exposure) for item in event.items}
    assert shown == {f"p{n:04d}" for n in range(120)}


def test_a_column_on_this_machine_is_reached_without_a_proxy(
    sealed: Sealing, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    name = sealed.begin()
    assert shielded(lambda _: sealed.work(name)).columns[0].answered == 120


def test_vendors_are_asked_to_store_nothing(sealed: Sealing, server: Server) -> None:
    sealed.run()
    assert all(seen.body["store"] is False for seen in server.seen)


def test_items_are_asked_in_an_order_that_their_ids_do_not_tell(sealed: Sealing, server: Server) -> None:
    sealed.run()
    order = [seen.text.split("farol ")[1][:5] for seen in server.seen]
    assert sorted(order) == [f"p{n:04d}" for n in range(120)]
    assert order != sorted(order)
    with sealed.play.vault() as vault:
        kept = kept_run(vault, next(iter(sealed_runs(sealed.play.public.ledger, "exemplo"))))
    assert kept.items != tuple(sorted(kept.items))


def test_the_vault_holds_replies_and_scores_and_no_log_is_left(sealed: Sealing) -> None:
    record = sealed.run()
    with sealed.play.vault() as vault:
        assert {document(record.run, name) for name in (PLAN, REPLIES, SCORES)} <= set(vault.documents())
        assert not list((vault.folder / "logs").iterdir())
        assert not inspect(vault).faults


def test_an_item_counts_as_shown_before_it_leaves(sealed: Sealing, server: Server) -> None:
    late: list[str] = []

    def watching(seen: Seen) -> Any:
        shown = {item for event in events(sealed, Exposure) for item in event.items}
        if (item := seen.text.split("farol ")[1][:5]) not in shown:
            late.append(item)
        return varied(seen)

    server.script = watching
    try:
        sealed.run()
    finally:
        server.script = varied
    assert not late


def test_a_column_has_one_run_in_a_round(sealed: Sealing) -> None:
    name = sealed.begin()
    with pytest.raises(InputError, match=f"run '{name}' of it is under way in exemplo/1"):
        sealed.begin()
    sealed.work(name)
    sealed.finish(name)
    with pytest.raises(InputError, match="was scored in exemplo/1 already"):
        sealed.begin()
    sealed.close()
    assert sealed.begin() != name


def test_every_column_of_a_round_is_asked_and_scored_alike(
    tmp_path: Path, server: Server, request: pytest.FixtureRequest
) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 4)
    request.addfinalizer(lambda: setattr(server, "script", varied))
    server.script = always(Say(text="Fico entre A e B."))
    sealed.undecided = "wrong"
    given_up_by = sealed.begin(repetitions=Repetitions(choice=2))
    with sealed.going(given_up_by) as (going, log):
        give_up(going, "a wrong plan", log, now=sealed.now())
    other = msgspec.structs.replace(sealed.column, id="outra", model="modelo-2")
    templates = dict(read_templates(None))
    name = sealed.begin(card=other)  # what was given up binds nobody
    third = msgspec.structs.replace(sealed.column, id="terceira", model="modelo-3")
    (first, *rest) = templates.values()
    longer = msgspec.structs.replace(first, text=first.text + "\nPense.", sha256="0" * 64)
    for _ in range(2):  # while it is under way, and once it is scored
        with pytest.raises(InputError, match=f"templates: are others than those that run '{name}'"):
            sealed.begin(card=third, templates=(longer, *rest))
        with pytest.raises(InputError, match=f"another number of times than run '{name}'"):
            sealed.begin(card=third, repetitions=Repetitions(open=2))
        with pytest.raises(InputError, match=r"is failure, and in run .* it is wrong\. Say wrong"):
            sealed.begin(card=third, undecided="failure")
        if not sealed_runs(sealed.play.public.ledger, "exemplo")[name].ends:
            assert sealed.work(name).complete
            assert sealed.finish(name).undecided == "wrong"
    with sealed.going(sealed.begin(card=third, undecided=None)) as (going, _):
        late = msgspec.structs.replace(going.kept, undecided="failure")
        runs = going.ground.round_runs(going.ground.ledger())
        with pytest.raises(InputError, match="--undecided"):
            refuse_unlike(going.vault, going.ground, runs, plan_of(late))


def test_a_ledger_that_is_written_while_a_run_begins_refuses_it_and_nothing_is_written(
    sealed: Sealing,
) -> None:
    with sealed.play.vault() as vault:
        kept, draw = vault.index.documents, vault.random

        def meanwhile(size: int) -> bytes:
            """The order of the items is drawn once all has been looked at that may refuse the run."""
            vault.random = draw
            void_items(
                sealed.root,
                "exemplo",
                ["p0001"],
                "two right answers",
                now=sealed.now(),
                signer=sealed.play.key,
            )
            return draw(size)

        ground, plan, vault.random = sealed.ground(), sealed.plan(), meanwhile
        with pytest.raises(InputError, match="another process wrote it meanwhile"):
            begin(vault, ground, plan, now=sealed.now())
        assert vault.index.documents == kept
    assert not events(sealed, RunIntent)
    assert not (sealed.root / tables_place("exemplo", "exemplo/1")).exists()
    sealed.begin()
    assert events(sealed, RunIntent)[0].items == 119


COPIES: dict[str, dict[str, Any]] = {
    "another id": {},
    "another spelling of the model": {"model": " Modelo-1"},
    "another label": {"vendor": "Outro", "family": "outra", "notes": "x", "roles": ("reference",)},
    "another pace": {"concurrency": 1, "timeout": 9, "requests_per_minute": 60},
    "another name of the cap": {"cap_name": "max_completion_tokens", "accepts": ("top_p",)},
    "another dialect of one server": {"dialect": "maritaca"},
}


@pytest.mark.parametrize("changes", COPIES.values(), ids=COPIES)
def test_a_copy_of_a_card_is_the_same_column(called_once: Sealing, changes: dict[str, Any]) -> None:
    copy = msgspec.structs.replace(called_once.column, id="outra", **changes)
    before = len(called_once.play.public.ledger.lines)
    with pytest.raises(InputError, match="calls the same model with the same settings as 'local', which run"):
        called_once.begin(card=copy)
    assert len(called_once.play.public.ledger.lines) == before


OTHERS: dict[str, dict[str, Any]] = {
    "another model": {"model": "modelo-2"},
    "another cap": {"cap": 200},
    "another effort": {"effort_name": "reasoning_effort", "effort": "high", "accepts": ("reasoning_effort",)},
    "another setting": {"accepts": ("top_p",), "settings": {"top_p": 0.5}},
    "another server": {"endpoint": "http://127.0.0.1:9/v1"},
}


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_what_a_customer_sets_makes_another_column(called_once: Sealing, changes: dict[str, Any]) -> None:
    other = msgspec.structs.replace(called_once.column, **changes)
    assert called(other) != called(called_once.column)


def test_how_a_setting_is_spelt_makes_no_other_column(called_once: Sealing) -> None:
    own = called_once.column
    takes = ("reasoning.effort", "reasoning")
    by_name = msgspec.structs.replace(own, effort_name="reasoning.effort", effort="high", accepts=takes)
    by_part = msgspec.structs.replace(own, settings={"reasoning.effort": "high"}, accepts=takes)
    whole = msgspec.structs.replace(own, settings={"reasoning": {"effort": "high"}}, accepts=takes)
    assert called(by_name) == called(by_part) == called(whole) != called(own)


@pytest.fixture(scope="module")
def called_once(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Sealing:
    """Four private items, and a run of them under way."""
    sealed = sealing(tmp_path_factory.mktemp("called"), server.endpoint("openai"), 4)
    sealed.begin()
    return sealed


@pytest.mark.parametrize(("letters", "fits"), [(95, True), (96, False), (300, False)])
def test_an_id_too_long_for_the_public_record_is_refused_before_anything_is_written(
    tmp_path: Path, server: Server, letters: int, fits: bool
) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 4)
    sealed.column = msgspec.structs.replace(sealed.column, id="x" * letters)
    if fits:
        assert sealed.run().column == "x" * letters
        return
    before = files_of(sealed)
    with pytest.raises(
        InputError, match=f"together they have {letters + 7} letters, and there is room for 102"
    ):
        sealed.begin()
    assert files_of(sealed) == before


def test_a_cell_too_long_for_the_public_record_is_refused_before_anything_is_written(
    tmp_path: Path, server: Server
) -> None:
    cell = {"area": "v" * 116, "difficulty": "facil"}
    sealed = sealing(tmp_path, server.endpoint("openai"), 4, more=[private("q1", cell=cell)])
    before = files_of(sealed)
    what = r"matrix.toml: cell 'area=v{25}\.\.\.' has 121 letters, and a public record has room for 120"
    with pytest.raises(InputError, match=what):
        sealed.begin()
    assert files_of(sealed) == before


def test_an_axis_that_no_item_has_is_refused_before_anything_is_written(
    tmp_path: Path, server: Server
) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 4)
    place = sealed.root / "registry/exemplo/benchmark.toml"
    place.write_text(place.read_text().replace('axes = ["area"]', 'axes = ["dificulty", "area"]'))
    before = files_of(sealed)
    what = r"\[sealed\] axes: dificulty: no axis of the matrix of 'exemplo'\. There are: area, difficulty"
    with pytest.raises(InputError, match=what):
        sealed.begin()
    assert files_of(sealed) == before


def test_what_does_not_fit_the_public_record_is_named_by_its_field_and_never_quoted(sealed: Sealing) -> None:
    record = sealed.run()
    unfit = msgspec.structs.replace(record, column="o bonde das laranjeiras")
    with pytest.raises(IntegrityError, match="does not fit its schema, at column") as raised:
        public_bytes(unfit)
    assert "bonde" not in str(raised.value)
    count = msgspec.structs.replace(record.counts[1], cell="")
    with pytest.raises(IntegrityError, match=r"does not fit its schema, at counts\[0\]\.cell"):
        public_bytes(msgspec.structs.replace(record, counts=(count,)))


def files_of(sealed: Sealing) -> dict[str, bytes]:
    """All that stands in the workspace and in the vault, by name."""
    places = sorted(path for path in sealed.root.parent.rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in places}


PRICE = Price(currency="USD", input="2", output="10", source="https://example.org/p", read="2019-12-01")
NO_BUDGET: dict[str, tuple[Price | None, str, str]] = {
    "no price": (None, "1", "has no price, so that no budget could be kept"),
    "price in reais": (msgspec.structs.replace(PRICE, currency="BRL"), "1", "no exchange rate was given"),
    # 2,000 tokens that a vendor may add, the request's bytes, and 100 tokens out: less than a cent, told in one figure.
    "too small": (
        PRICE,
        "0.000001",
        r"allow no request: one to column 'local' may cost up to US\$ 0\.00\d\.",
    ),
}


@pytest.mark.parametrize(("price", "budget", "what"), NO_BUDGET.values(), ids=NO_BUDGET)
def test_a_budget_that_cannot_be_kept_or_allows_nothing_is_refused_before_anything_is_written(
    tmp_path: Path, server: Server, price: Price | None, budget: str, what: str
) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 4)
    before = files_of(sealed)
    with pytest.raises(InputError, match=what):
        sealed.begin(card=msgspec.structs.replace(sealed.column, price=price), budget=budget)
    assert files_of(sealed) == before


def test_a_run_that_was_given_up_counts_and_is_public(sealed: Sealing) -> None:
    name = sealed.begin()
    with sealed.going(name) as (going, log):
        with pytest.raises(InputError, match="is empty"):
            give_up(going, " ", log, now=sealed.now())
        assert give_up(going, "the vendor withdrew the model", log, now=sealed.now()) == GivenUp(
            came=0, kept=0
        )
        assert tidy(going.vault, going.ground.runs()) == (name,)
    assert events(sealed, RunAbort)[0].reason == "the vendor withdrew the model"
    with pytest.raises(InputError, match="which counts as its run"):
        sealed.begin()


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        ("one line\nand another", r"has characters that are no part of a line of text \(U\+000A\)"),
        ("red \x1b[31m", r"\(U\+001B\)"),
        ("it asks: QUE FAROL, é o Verde!, of all things", "quotes private item 'q1'"),
        ("the answer, farol de ouro, is known", "quotes private item 'q1'"),
        ("it said that o mar era muito largo", "quotes a reply of the column"),
    ],
)
def test_a_reason_is_one_line_that_quotes_nothing_private(
    tmp_path: Path, server: Server, request: pytest.FixtureRequest, reason: str, what: str
) -> None:
    payload = Payload(
        kind="choice",
        stem="Na barra, que farol é o verde?",
        options={"A": "Farol de ouro", "B": "Outro"},
        key="A",
    )
    sealed = sealing(tmp_path, server.endpoint("openai"), 4, more=[private("q1", payload=payload)])
    request.addfinalizer(lambda: setattr(server, "script", varied))
    server.script = always(Say(text="Alternativa A, pois o mar era muito largo."))
    name = sealed.begin()
    assert sealed.work(name).complete
    before = (sealed.root / "registry/ledger.jsonl").read_bytes()
    with sealed.going(name) as (going, log):
        with pytest.raises(InputError, match=what) as raised:
            give_up(going, reason, log, now=sealed.now())
        assert not any(word in str(raised.value).casefold() for word in ("verde", "ouro", "largo"))
        assert (sealed.root / "registry/ledger.jsonl").read_bytes() == before
        # Words that everybody uses, one of them an option's, are no quotation.
        give_up(going, "o fornecedor retirou o modelo de ouro, não há outro", log, now=sealed.now())


def test_all_columns_of_a_round_have_the_same_tables_and_items(sealed: Sealing) -> None:
    first = sealed.run()
    sealed.play.freeze()
    sealed.play.add(items(500, 20), "b2")
    sealed.play.void(["p0003"])
    second = sealed.run(card=msgspec.structs.replace(sealed.column, id="outra", model="modelo-2"))
    assert first.tables == second.tables
    # The void item is asked no more, and what was sealed since waits for the next round.
    assert (first.items, second.items) == (120, 119)
    tables = read_tables(sealed.root / tables_place("exemplo", "exemplo/1"))
    assert len(tables.items) == 120


@pytest.mark.parametrize(
    ("terms", "what"),
    [
        (None, "says nothing of what its vendor keeps"),
        ({"value": "thirty days"}, "'thirty days' are not among those accepted: no retention; zero data"),
        ({"read": "2018-12-30"}, "were read 367 days ago, and count for 366"),
        ({"read": "2020-02-01"}, "a day to come"),
        ({"read": "soon"}, "have no date"),
    ],
)
def test_terms_of_retention_must_be_there_accepted_and_fresh(
    sealed: Sealing, terms: dict[str, str] | None, what: str, server: Server
) -> None:
    fact = None if terms is None else msgspec.structs.replace(TERMS, **terms)
    with pytest.raises(InputError, match=what):
        sealed.begin(card=msgspec.structs.replace(sealed.column, retention=fact))
    assert not events(sealed, RunIntent)
    assert not server.seen


def test_images_that_only_data_would_show_are_refused_before_anything_is_written(
    tmp_path: Path, server: Server
) -> None:
    picture = Image(file="a.png", sha256="0" * 64, caption="Um farol.")
    payload = Payload(
        kind="choice", stem="Que farol é?", options={"A": "Um", "B": "Dois"}, key="A",
        images=(picture,),
    )  # fmt: skip
    sealed = sealing(tmp_path, server.endpoint("openai"), 4, more=[private("q1", payload=payload)])
    with pytest.raises(InputError, match="an image of an item: is missing"):
        sealed.begin(card=msgspec.structs.replace(sealed.column, images="inline"))
    assert not events(sealed, RunIntent)


def test_a_key_that_may_not_sign_and_rows_that_differ_are_refused(sealed: Sealing) -> None:
    own = sealed.play.key
    sealed.play.key = key_from(bytes([9]) * 32)
    with pytest.raises(InputError, match="may not sign in this ledger"):
        sealed.begin()
    sealed.play.key = own
    place = sealed.root / "registry/exemplo/private/commitments.jsonl"
    place.write_text(place.read_text().replace('"b1"', '"b9"', 1))
    with pytest.raises(InputError, match="1 public rows are not those of the vault, such as 'p0000'"):
        sealed.begin()


def test_a_benchmark_without_private_items_has_no_sealed_run(tmp_path: Path, server: Server) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 0)
    with pytest.raises(InputError, match="has no private items"):
        sealed.begin()


def test_names_of_images_are_not_said(tmp_path: Path, server: Server) -> None:
    picture = Image(file="o-bonde-das-laranjeiras.png", sha256="0" * 64)
    payload = Payload(kind="choice", stem="?", options={"A": "Um", "B": "Dois"}, key="A", images=(picture,))
    sealed = sealing(tmp_path, server.endpoint("openai"), 4, more=[private("q1", payload=payload)])
    with pytest.raises(InputError, match="images of 1 items have none: q1") as raised:
        sealed.begin()
    assert "bonde" not in str(raised.value)


def test_words_that_a_server_chose_are_not_shown(sealed: Sealing) -> None:
    halt = Halted(
        column="local", when="-", reason="parameter", detail="'bonde' is not taken", parameter="bonde"
    )
    column = ColumnState(
        column="local", expected=1, answered=1, refused=0, truncated=0, failed=0, incomplete_context=0,
        halted=halt, unknown_ends={"o bonde": 2, "a balsa": 1},
    )  # fmt: skip
    state = RunState(columns=(column,), complete=False)
    seen = shown(state, sealed.column).columns[0]
    assert "bonde" not in repr(seen)
    assert seen.unknown_ends == {"(named in the vault)": 3}
    known = msgspec.structs.replace(sealed.column, accepts=("bonde",))
    assert shown(state, known).columns[0].halted == halt
    calm = msgspec.structs.replace(column, halted=None, unknown_ends={})
    assert shown(RunState(columns=(calm,), complete=True), known).columns == (calm,)


class Faulty:
    """A log that fails at one of its frames: before it, in the middle of it, or after."""

    def __init__(self, vault: Vault, name: str, *, at: int, how: str, act: Any) -> None:
        self.log, self.mark = SealedLog(vault, name), mark_path(vault, name)
        self.left, self.how, self.act = at, how, act

    def append(self, lines: Sequence[bytes]) -> None:
        self.left -= 1
        if self.left == -1 and self.how == "before":
            self.act()
        if self.left == -1 and self.how == "half":
            before = self.log.path.stat().st_size
            mark = self.mark.read_bytes()
            self.log.append(lines)
            self.mark.write_bytes(mark)  # it is written after its frame
            after = self.log.path.stat().st_size
            os.truncate(self.log.path, before + (after - before) // 2)
            self.act()
        self.log.append(lines)
        if self.left == -1:
            self.act()

    @property
    def seen(self) -> LogSeen:
        return self.log.seen

    @property
    def replies(self) -> int:
        return self.log.replies

    @replies.setter
    def replies(self, number: int) -> None:
        self.log.replies = number

    def lines(self) -> Any:
        return self.log.lines()

    def close(self) -> None:
        self.log.close()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_a_run_that_was_killed_at_any_frame_goes_on_and_repeats_nothing(
    tmp_path: Path, server: Server, how: str
) -> None:
    server.seen.clear()
    sealed = sealing(tmp_path, server.endpoint("openai"), 6)
    sealed.column = msgspec.structs.replace(sealed.column, concurrency=1)
    name = sealed.begin()
    deaths = 0
    for at in range(10):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                # One frame is written in each life before it ends, so that every frame is met.
                sealed.work(name, lambda v, n: Faulty(v, n, at=1, how=how, act=kill))
                code = 0
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            break
        assert code == -signal.SIGKILL, at
        deaths += 1
        with sealed.play.vault() as vault:
            assert not inspect(vault).faults
    assert deaths
    sealed.play.now += timedelta(minutes=10)  # the clock of the lives that ended went on
    assert sealed.work(name).complete
    record = sealed.finish(name)
    assert record.leaves == 6
    asked = [seen.text for seen in server.seen]
    # What came and was cut off is asked again; what was kept never is.
    assert len(asked) - len(set(asked)) <= 2 * deaths
    with sealed.play.vault() as vault:
        lines = (vault.document(document(name, REPLIES)) or b"").splitlines()
    assert len(lines) == len(set(lines)) == 6


def test_a_log_lost_after_a_kill_is_missed_however_few_replies_were_in_it(
    tmp_path: Path, server: Server
) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 6)
    sealed.column = msgspec.structs.replace(sealed.column, concurrency=1)
    name = sealed.begin()
    child = os.fork()
    if child == 0:
        try:
            sealed.work(name, lambda v, n: Faulty(v, n, at=3, how="after", act=kill))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    sealed.play.now += timedelta(minutes=10)
    place = sealed.play.vault_folder / "logs" / f"{name}.log.age"
    kept, asked = place.read_bytes(), len(server.seen)
    place.unlink()
    with sealed.play.vault() as vault:
        assert any(
            "is missing, and 3 replies at least were in it" in fault for fault in inspect(vault).faults
        )
        assert not vault.index.logs  # it was killed in its first block
    with pytest.raises(IntegrityError, match="is missing, and 3 replies"):
        sealed.work(name)
    assert len(server.seen) == asked
    place.write_bytes(kept)
    place.chmod(0o600)
    assert sealed.work(name).complete


def test_a_full_disk_stops_the_run_and_nothing_is_lost(sealed: Sealing) -> None:
    name = sealed.begin()

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(IncompleteError, match="a reply could not be written"):
        sealed.work(name, lambda v, n: Faulty(v, n, at=3, how="before", act=full))
    assert sealed.work(name).complete
    assert sealed.finish(name).leaves == 120


def test_a_ledger_that_cannot_be_written_stops_the_run_before_the_item_leaves(
    sealed: Sealing, server: Server
) -> None:
    name = sealed.begin()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            most = (sealed.root / "registry/ledger.jsonl").stat().st_size + 200
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            try:
                sealed.work(name)
            except IncompleteError as error:
                code = 0 if "so nothing more is sent" in str(error) and "ulimit -f" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not server.seen
    assert not events(sealed, Exposure)


class Full(Disk):
    """A disk without room."""

    def sync(self, paths: Sequence[Path]) -> None:
        if paths:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_vault_that_cannot_remember_stops_the_run_before_the_item_leaves(
    sealed: Sealing, server: Server
) -> None:
    name = sealed.begin()
    with sealed.going(name) as (going, log):
        going.vault.journal.disk = Full()
        what = (
            r"the vault could not be written.*Make room.*Nothing more is sent\. Go on with `lacre run resume"
        )
        with pytest.raises(IncompleteError, match=what):
            session(going, log, Means(keys={}, now=sealed.now, patience=HASTY)).work()
    assert not server.seen
    assert sealed.work(name).complete
    assert sealed.finish(name).leaves == 120


def test_a_column_that_is_stopped_is_gone_on_with(sealed: Sealing, server: Server) -> None:
    name = sealed.begin()
    server.script = always(Send.json(401, {"error": {"message": "no"}}))
    try:
        state = sealed.work(name)
    finally:
        server.script = varied
    assert not state.complete
    assert state.columns[0].halted is not None
    # Only what may have been sent counts as shown.
    assert sum(len(event.items) for event in events(sealed, Exposure)) == 64
    assert sealed.work(name).complete
    assert sum(len(event.items) for event in events(sealed, Exposure)) == 120
    assert sealed.finish(name).leaves == 120


def test_a_run_goes_on_at_another_pace_and_with_no_other_model_server_or_setting(sealed: Sealing) -> None:
    name = sealed.begin()
    with sealed.going(name) as (going, _):
        slower = msgspec.structs.replace(sealed.column, concurrency=1)
        assert renewed(going.kept, going.run, slower).record.columns == (slower,)
        for changes in OTHERS.values():
            other = msgspec.structs.replace(sealed.column, **changes)
            named = ", ".join(sorted(changes))
            with pytest.raises(InputError, match=rf"otherwise than when this run began \({named}\)"):
                renewed(going.kept, going.run, other)


def test_nothing_opens_or_retires_items_while_a_run_asks_them(sealed: Sealing, server: Server) -> None:
    name = sealed.begin()
    before = (sealed.root / "registry/ledger.jsonl").read_bytes()
    give_it_up = f"`lacre run abort {name} --reason TEXT --vault DIR --identity FILE --key FILE`"
    waits = f"must wait: sealed run '{name}' is under way.*{give_it_up}"
    with pytest.raises(InputError, match=waits):
        sealed.play.void(["p0003"])
    with pytest.raises(InputError, match=waits):
        sealed.play.supersede("p0003", msgspec.structs.replace(items(500, 2)[1], id="p0003b"))
    assert (sealed.root / "registry/ledger.jsonl").read_bytes() == before
    sealed.play.freeze()
    other = sealed.begin(card=msgspec.structs.replace(sealed.column, id="outra", model="modelo-2"))
    with pytest.raises(InputError, match=f"sealed run '{name}' is under way, and 1 more are"):
        sealed.play.close(lottery(sealed.play.draws))
    sealed.play.now -= timedelta(days=1)  # as it was before the closing that was refused
    assert not sealed.play.public.history.splits
    with sealed.going(name) as (going, log):
        give_up(going, "the vendor withdrew the model", log, now=sealed.now())
    due = f"'{other}' is under way\\. Give it up first, for its round's randomness is due: `lacre run abort {other} "
    with pytest.raises(InputError, match=due):
        sealed.play.close(lottery(sealed.play.draws))
    sealed.play.now -= timedelta(days=1)
    assert sealed.work(other).complete  # the round was not harmed by what was refused
    sealed.finish(other)
    sealed.play.close(lottery(sealed.play.draws))
    assert len(sealed.play.public.history.splits) == 1


def test_scores_are_fixed_before_it_can_be_known_what_opens(tmp_path: Path, server: Server) -> None:
    sealed = sealing(tmp_path, server.endpoint("openai"), 4)
    name = sealed.begin()
    sealed.play.freeze(hours=1)
    assert sealed.work(name).complete
    sealed.play.now += timedelta(hours=1)
    late = "closing exemplo/1: its randomness is due since"
    for again in (sealed.work, sealed.finish):
        with pytest.raises(InputError, match=f"{late}.*lacre run abort {name}"):
            again(name)
    other = msgspec.structs.replace(sealed.column, id="outra", model="modelo-2")
    with pytest.raises(InputError, match=f"{late}.*start in the next round"):
        sealed.begin(card=other)
    with sealed.going(name) as (going, log):
        assert give_up(going, "not ended in time", log, now=sealed.now()) == GivenUp(came=4, kept=4)
    sealed.play.close(lottery(sealed.play.draws))
    assert sealed.begin(card=other)


def test_a_second_rotation_waits_for_its_own_runs_only(sealed: Sealing) -> None:
    first = sealed.begin()
    with sealed.going(first) as (going, log):
        give_up(going, "the vendor withdrew the model", log, now=sealed.now())
    sealed.close()
    second = sealed.begin()
    sealed.play.freeze()
    with pytest.raises(InputError, match=f"closing exemplo/2: must wait: sealed run '{second}'"):
        sealed.play.close(lottery(sealed.play.draws))


def test_a_batch_waits_for_the_freeze_once_the_round_has_a_run(sealed: Sealing) -> None:
    sealed.play.add(items(500, 2), "b2")
    name = sealed.begin()
    with sealed.going(name) as (going, log):
        give_up(going, "the vendor withdrew the model", log, now=sealed.now())
    before = (sealed.root / "registry/ledger.jsonl").read_bytes()
    with pytest.raises(InputError, match=f"draw that sealed run '{name}' did not reckon with.*round freeze"):
        sealed.play.add(items(600, 2), "b3")
    assert (sealed.root / "registry/ledger.jsonl").read_bytes() == before
    with sealed.play.vault() as vault:
        assert not vault.holds("p0600")
    frozen = sealed.play.freeze()
    sealed.play.add(items(600, 2), "b3")
    assert len(frozen.items) == 122
    sealed.play.close(lottery(sealed.play.draws))
    sealed.play.add(items(700, 2), "b4")  # the next round has no run yet


def test_a_run_name_of_nowhere_is_no_run_of_the_vault(sealed: Sealing) -> None:
    with pytest.raises(InputError, match="is no sealed run of this vault"), sealed.play.vault() as vault:
        kept_run(vault, "another")


def test_tables_that_are_gone_or_changed_stop_a_run_before_it_asks(sealed: Sealing, server: Server) -> None:
    name = sealed.begin()
    place = sealed.root / tables_place("exemplo", "exemplo/1")
    kept = place.read_bytes()
    place.write_bytes(kept.replace(b'"smallest": 20', b'"smallest": 21'))
    with pytest.raises(IntegrityError, match=r"is not what this run began with\. Restore it from git"):
        sealed.work(name)
    place.unlink()
    with pytest.raises(
        IntegrityError, match=r"is missing: it says which counts may leave.*Restore it from git"
    ):
        sealed.work(name)
    assert not server.seen
    place.write_bytes(kept)
    assert sealed.work(name).complete


def test_progress_and_state_tell_no_class_of_an_answer(sealed: Sealing) -> None:
    name, told_on_the_way = sealed.begin(), list[Progress]()
    state = sealed.work(name, on_progress=told_on_the_way.append)
    assert state.columns[0].answered == 120
    assert [each.done for each in told_on_the_way] == list(range(1, 121))
    assert not any(each.kinds for each in told_on_the_way)
    odd = msgspec.structs.replace(state.columns[0], over_cap=3, longest=900)
    said = told(msgspec.structs.replace(state, columns=(odd,)), sealed.column)
    assert said == Told(
        column="local", replies=120, expected=120, complete=True, halted=None, over_cap=True,
        budget_reached=False, budget=None, spent=None,
    )  # fmt: skip


def test_tables_that_were_changed_in_mid_run_stop_its_end(sealed: Sealing) -> None:
    name = sealed.begin()
    assert sealed.work(name).complete
    place = sealed.root / tables_place("exemplo", "exemplo/1")
    kept = place.read_bytes()
    place.write_bytes(kept.replace(b'"smallest": 20', b'"smallest": 21'))
    with pytest.raises(IntegrityError, match="is not what this run began with"):
        sealed.finish(name)
    place.write_bytes(kept[:-30])
    with pytest.raises(IntegrityError, match="is no public record of a sealed run"):
        sealed.finish(name)
    place.write_bytes(kept)
    assert sealed.finish(name).leaves == 120


def test_open_items_are_committed_and_not_counted(tmp_path: Path, server: Server) -> None:
    parts = (Part(id="a", prompt="Por quê?", expected="-"), Part(id="b", prompt="E como?", expected="-"))
    essays = [
        private("q1", payload=Payload(kind="open", stem="Explique o farol.", parts=parts)),
        private("q2", payload=Payload(kind="open", stem="Explique a balsa.", key="-")),
    ]
    sealed = sealing(tmp_path, server.endpoint("openai"), 60, more=essays)
    sealed.undecided = "wrong"
    record = sealed.run()
    assert (record.ungraded, record.leaves, record.items) == (2, 62, 62)
    assert (record.undecided, record.undecided_answers) == ("wrong", 2)
    assert record.counts[0].items == 60


def test_lines_about_runs_that_never_began_are_named(sealed: Sealing) -> None:
    path = sealed.root / "registry/ledger.jsonl"
    name = sealed.begin()
    intent = events(sealed, RunIntent)[0]
    abort = RunAbort(benchmark="exemplo", run="other", intent="0" * 64, reason="x", replies=0)
    ledgers.append(path, [intent, abort], at="2020-01-02T00:00:00Z", signer=sealed.play.key)
    said = [what for _, what in strays(sealed.play.public.ledger, "exemplo")]
    assert said == [f"run '{name}' begins a second time", "ends run 'other', which never began"]


def test_a_reply_that_is_all_failure_is_counted_so(sealed: Sealing, server: Server) -> None:
    name = sealed.begin()
    server.script = always(Say(text=None))
    try:
        assert sealed.work(name).complete
    finally:
        server.script = varied
    with sealed.going(name) as (going, log):
        assert scores_of(going, log).wholly_failed
