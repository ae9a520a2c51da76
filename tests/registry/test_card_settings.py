"""What a card may not send: the engine's own words, words beside the message, and a second output cap."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacre.registry.columns import usable_columns

CARD = """\
[[columns]]
id = "m"
model = "m"
vendor = "v"
family = "f"
dialect = "{dialect}"
endpoint = "{endpoint}"
cap = 100
{more}
"""
LOCAL = "http://127.0.0.1:8000/v1"


def said(folder: Path, more: str, dialect: str = "openai", endpoint: str = LOCAL) -> list[str]:
    path = folder / "columns.toml"
    path.write_text(CARD.format(dialect=dialect, endpoint=endpoint, more=more), encoding="utf-8")
    return [fault.what for fault in usable_columns(path).bad]


def setting(name: str, value: str) -> str:
    return f'accepts = ["{name}"]\nsettings = {{ "{name}" = {value} }}'


@pytest.mark.parametrize(
    ("dialect", "name", "value"),
    [
        ("openai", "messages", "[]"),
        ("openai", "model", '"other"'),
        ("openai", "stream", "true"),
        ("openai", "n", "8"),
        ("openai", "N", "8"),
        ("openai", "search_parameters", '{ mode = "on" }'),
        ("openai", "safe_prompt", "true"),
        ("openai", "tools", "[]"),
        ("openai", "models", '["a"]'),
        ("maritaca", "system", '"Pense bem."'),
        ("completions", "prompt", '"x"'),
        ("completions", "best_of", "3"),
        ("anthropic", "system", '"Pense bem."'),
        ("anthropic", "system.text", '"Pense bem."'),
        ("anthropic", "stream", "true"),
        ("gemini", "contents", "[]"),
        ("gemini", "systemInstruction", '"x"'),
        ("gemini", "system_instruction", '"x"'),
        ("gemini", "generationConfig.candidateCount", "4"),
        ("gemini", "generation_config.candidate_count", "4"),
        ("gemini", "generationConfig", "{ candidateCount = 4 }"),
    ],
)
def test_what_lacre_writes_is_no_setting(dialect: str, name: str, value: str, tmp_path: Path) -> None:
    assert any("is written by lacre" in what for what in said(tmp_path, setting(name, value), dialect))


@pytest.mark.parametrize(
    ("dialect", "name", "value"),
    [
        ("openai", "service_tier", '"flex"'),
        ("openai", "serviceTier", '"flex"'),
        ("openai", "store", "true"),
        ("openai", "store", "false"),
        ("openai", "prompt_cache_retention", '"24h"'),
        ("maritaca", "metadata", '{ a = "b" }'),
        ("completions", "service_tier", '"flex"'),
        ("anthropic", "service_tier", '"auto"'),
        ("anthropic", "speed", '"fast"'),
        ("anthropic", "inference_geo", '"us"'),
        ("anthropic", "cache_control.ttl", '"1h"'),
        ("gemini", "serviceTier", '"priority"'),
        ("gemini", "labels", '{ a = "b" }'),
    ],
)
def test_what_is_bought_and_what_is_kept_is_no_setting(
    dialect: str, name: str, value: str, tmp_path: Path
) -> None:
    found = said(tmp_path, setting(name, value), dialect)
    assert any(f"'{name}' changes what is bought, or what the vendor keeps" in what for what in found)


@pytest.mark.parametrize(
    ("dialect", "name", "value"),
    [
        ("openai", "temperature", "0"),
        ("openai", "provider", '{ order = ["a"], allow_fallbacks = false }'),
        ("openai", "chat_template_kwargs", "{ enable_thinking = false }"),
        ("anthropic", "thinking", '{ type = "adaptive" }'),
        ("gemini", "generationConfig.thinkingConfig.thinkingBudget", "0"),
    ],
)
def test_settings_of_the_model_are_taken(dialect: str, name: str, value: str, tmp_path: Path) -> None:
    assert said(tmp_path, setting(name, value), dialect) == []


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("openai", "max_tokens"),
        ("openai", "max_completion_tokens"),
        ("maritaca", "maxTokens"),
        ("anthropic", "max_tokens"),
        ("gemini", "generationConfig.maxOutputTokens"),
        ("gemini", "generationConfig.max_output_tokens"),
    ],
)
def test_a_second_output_cap_is_refused(dialect: str, name: str, tmp_path: Path) -> None:
    assert any("names the output cap" in what for what in said(tmp_path, setting(name, "99999"), dialect))


def test_a_name_that_is_only_accepted_is_refused_likewise(tmp_path: Path) -> None:
    assert any("'messages' is written" in what for what in said(tmp_path, 'accepts = ["messages"]'))


@pytest.mark.parametrize("more", ['cap_name = "messages"', 'effort_name = "model"\neffort = "x"'])
def test_neither_cap_nor_effort_takes_the_place_of_what_lacre_writes(more: str, tmp_path: Path) -> None:
    assert any("is written by lacre" in what for what in said(tmp_path, more))


def test_the_effort_is_no_output_cap(tmp_path: Path) -> None:
    more = 'effort_name = "max_tokens"\neffort = "9"'
    assert any("names the output cap" in what for what in said(tmp_path, more))


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        ("gemini", setting("generationConfig", "{ temperature = 0 }")),
        ("anthropic", 'accepts = ["top", "top.a"]\n[columns.settings]\ntop = { b = 1 }\n"top.a" = "x"'),
        ("openai", 'effort_name = "reasoning_effort"\neffort = "low"\n' + setting("reasoning_effort", '"high"')),
    ],
)  # fmt: skip
def test_no_setting_replaces_another(dialect: str, more: str, tmp_path: Path) -> None:
    assert any("are sent in the same place" in what for what in said(tmp_path, more, dialect))


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        ("openai", setting("temperature", "0")),
        ("openai", 'cap_name = "max_tokens"'),
        ("openai", 'effort_name = "reasoning_effort"\neffort = "low"'),
        ("anthropic", setting("thinking", '{ type = "enabled", budget_tokens = 50 }')),
        ("anthropic", 'effort_name = "output_config.effort"\neffort = "low"'),
        ("gemini", 'effort_name = "generationConfig.thinkingConfig.thinkingLevel"\neffort = "low"'),
        ("gemini", setting("generationConfig.temperature", "0")),
    ],
)
def test_what_a_customer_controls_is_sent(dialect: str, more: str, tmp_path: Path) -> None:
    assert said(tmp_path, more, dialect) == []


@pytest.mark.parametrize(
    ("endpoint", "what"),
    [
        ("https://ana:segredo@api.example.org/v1", "a name or a password"),
        ("https://segredo@api.example.org", "a name or a password"),
        ("https://api.example.org/v1?key=segredo", "a query or a fragment"),
        ("https://api.example.org/v1#segredo", "a query or a fragment"),
    ],
)
def test_an_endpoint_is_a_bare_address_and_what_stands_beside_it_is_not_repeated(
    endpoint: str, what: str, tmp_path: Path
) -> None:
    faults = said(tmp_path, "", endpoint=endpoint)
    assert any(f"endpoint holds {what}" in fault for fault in faults)
    assert "segredo" not in " ".join(faults)
