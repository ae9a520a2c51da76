"""Money: exact, and undefined with its reason wherever something is not known."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from tests.engine.making import PRICE, SOURCE, card

from lacre.engine.checks import checked
from lacre.engine.client import Halt
from lacre.engine.costs import Amount, Bill, costs, in_dollars, price_of, total_dollars
from lacre.engine.journal import Halted, Replied
from lacre.engine.replies import Answered, Delivery, Failed, Usage
from lacre.registry.columns import Exchange, Price
from lacre.scoring.estimates import Undefined

REAIS = Price(currency="BRL", input="5", output="10", source=SOURCE, read="2026-01-01")
RATE = Exchange(brl_per_usd="5", source=SOURCE, read="2026-01-01")
LOCAL = card("http://127.0.0.1:1", price=PRICE)


def replied(usage: Usage, **delivery: Any) -> Replied:
    told = Delivery(**({"status": 200, "attempts": 1, "latency": 0.1} | delivery))
    reply = Answered(text="A", finish="stop", raw_finish="stop", delivery=told, usage=usage)
    return Replied(column="openai", item="q", repetition=1, message="0", when="2026", reply=reply)


@pytest.mark.parametrize(
    ("usage", "changes", "expected"),
    [
        (Usage(input=1_000_000, output=0), {}, "2"),
        (Usage(input=0, output=1_000_000), {}, "10"),
        (Usage(input=1_000_000, output=0, cached=1_000_000), {}, "0.5"),
        (Usage(input=1_000_000, output=0, cached=400_000), {}, "1.4"),
        (Usage(input=0, output=0), {}, "0"),
        (Usage(input=10), {}, "did not tell its tokens"),
        (Usage(output=10), {}, "did not tell its tokens"),
        (Usage(input=10, output=1, cached=5), {"cached": None}, "no price for cached input"),
        (Usage(input=10, output=1, cache_written=5), {}, "no price for writing to the cache"),
        (Usage(input=1_000_000, output=0, cache_written=1_000_000), {"cache_write": "2.5"}, "2.5"),
    ],
)
def test_the_price_of_tokens(usage: Usage, changes: dict[str, Any], expected: str) -> None:
    found = price_of(usage, msgspec.structs.replace(PRICE, **changes))
    if isinstance(found, Undefined):
        assert expected in found.reason
    else:
        assert found == Decimal(expected)


def test_money_in_the_other_currency_needs_a_rate() -> None:
    entry = replied(Usage(input=1_000_000, output=0))
    [dollars] = costs("answers", [LOCAL], RATE, [entry])
    assert (dollars.usd, dollars.brl) == (
        Amount(value="2", currency="USD"),
        Amount(value="10", currency="BRL"),
    )
    local = msgspec.structs.replace(LOCAL, price=REAIS)
    [reais] = costs("answers", [local], RATE, [entry])
    assert (reais.usd, reais.brl) == (
        Amount(value="1", currency="USD"),
        Amount(value="5", currency="BRL"),
    )
    [bare] = costs("answers", [local], None, [entry])
    assert str(bare.usd) == "undefined: no exchange rate was given"
    assert in_dollars(Usage(input=1, output=1), local, None) is None
    assert in_dollars(Usage(input=1, output=1), msgspec.structs.replace(LOCAL, price=None), None) is None


def test_one_reply_without_tokens_makes_the_sum_undefined() -> None:
    [cost] = costs("answers", [LOCAL], None, [replied(Usage(input=5, output=5)), replied(Usage())])
    assert str(cost.usd) == "undefined: the column did not tell its tokens"
    assert (cost.replies, cost.unknown) == (2, 1)
    assert str(cost.input) == "undefined: 1 replies did not tell theirs; the others told 5"
    assert str(cost.reasoning) == "undefined: 2 replies did not tell theirs"


def test_what_failed_without_tokens_costs_nothing_and_may_be_lost() -> None:
    delivery = Delivery(status=None, attempts=5, lost=3, latency=0.1)
    reply = Failed(cause="timeout", detail="no answer in time", delivery=delivery)
    entry = msgspec.structs.replace(replied(Usage()), reply=reply)
    halted = Halted(column="openai", when="2026", reason="key", detail="refused")
    [cost] = costs("answers", [LOCAL], None, [entry, halted])
    assert cost.usd == Amount(value="0", currency="USD")
    assert (cost.lost, cost.unknown) == (3, 0)


def test_the_total_of_columns_is_known_only_when_each_is() -> None:
    bills = {"a": Bill("answers", LOCAL, None), "b": Bill("answers", LOCAL, None)}
    bills["a"].add(replied(Usage(input=1_000_000, output=0)))
    assert total_dollars(bills) == 2
    bills["b"].add(replied(Usage()))
    assert total_dollars(bills) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "modelo-1-2026-01-01"}, None),
        ({"model": "models/modelo-1"}, None),
        ({"model": None}, None),
        ({"model": "modelo-2"}, "names the model modelo-2"),
        ({"usage": Usage(input=1, output=500)}, "more than the cap of 100"),
        ({"finish": "other", "raw_finish": "odd"}, "unknown reason (odd)"),
    ],
)
def test_what_a_check_notices(changes: dict[str, Any], said: str | None) -> None:
    model = changes.pop("model", "modelo-1")
    entry = replied(changes.pop("usage", Usage(input=1, output=1)), model=model).reply
    found = checked(LOCAL, msgspec.structs.replace(entry, **changes))
    assert found.status == ("ok" if said is None else "differs")
    assert said is None or said in " ".join(found.remarks)


def test_a_check_that_failed_says_why() -> None:
    halt = Halt(reason="parameter", detail="the server does not take 'top_p'", parameter="top_p")
    assert checked(LOCAL, halt).parameter == "top_p"
    delivery = Delivery(status=500, attempts=2, latency=0.1)
    failed = Failed(cause="server", detail="status 500", delivery=delivery)
    assert (checked(LOCAL, failed).status, checked(LOCAL, failed).why) == ("failed", "status 500")
