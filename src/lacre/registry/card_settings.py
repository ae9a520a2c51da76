"""Settings that no card may give: what the engine writes itself, and what puts words or prices beside it (SPEC L21).

Every column gets the same message, and a budget is kept by what the engine knows of a request. A setting that replaced
the message, the model or the output cap, asked for several answers, or brought words of its own would break both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lacre.registry.columns import Column

_FOR_ALL = (
    # The message, and words beside it.
    "messages", "prompt", "prompts", "input", "inputs", "system", "instructions", "suffix", "echo", "prefix",
    "prediction", "documents", "chat_template", "previous_response_id", "conversation", "extra_body",
    # Words that a vendor or a router puts in, takes out or finds itself, when it is told to.
    "safe_prompt", "prompt_mode", "transforms", "preset", "search_parameters", "enable_search", "search_options",
    # What is asked, and how its answer comes.
    "model", "models", "stream", "stream_options", "background", "modalities", "audio",
    # How many answers.
    "n", "best_of", "candidate_count", "num_return_sequences", "num_completions",
    # Tools: the column would answer with more than it knows.
    "tools", "tool_choice", "tool_config", "functions", "function_call", "web_search_options", "plugins",
    "mcp_servers", "container",
)  # fmt: skip

RESERVED: Mapping[str, tuple[str, ...]] = {
    "openai": _FOR_ALL,
    "maritaca": _FOR_ALL,
    "completions": _FOR_ALL,
    "anthropic": (*_FOR_ALL, "context_management"),
    "gemini": (
        *_FOR_ALL, "contents", "system_instruction", "cached_content",
        *(f"generation_config.{name}" for name in ("candidate_count", "response_modalities", "speech_config")),
    ),
}  # fmt: skip
"""Names that no card may send, by dialect; with or without capitals and underscores, and whatever is in them."""

BOUGHT = (
    # Another tier, speed or place of the same model, at another price.
    "service_tier", "speed", "inference_geo",
    # Asked later, or as one of a batch.
    "deferred",
    # A cache of the vendor's: written at a price, read at another, and kept for as long as is said.
    "cache_control", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options",
    # What the vendor keeps, and under which name it is found again.
    "store", "metadata", "labels",
)  # fmt: skip
"""Names of what is bought and of what is kept, which no card may send in any dialect (OpenAI, Chat Completions;
Anthropic, Messages; Google, GenerateContent; xAI, Chat): price and retention terms on the card are those of a request
without them."""

CAPS = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "max_gen_len", "max_length",
    "n_predict", "num_predict", "max_tokens_to_sample", "generation_config.max_output_tokens",
)  # fmt: skip
"""Names of the output cap: it is given as ``cap``, under the name in ``cap_name``, so that a budget knows it."""

_NESTED_CAPS = {"gemini": "generationConfig.maxOutputTokens"}
"""Where a cap without a name of its own stands within an object, which a setting might replace as a whole."""

Complaint = tuple[str, str]


def setting_names(settings: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The dotted names of all that settings send, those inside of objects among them.

    >>> list(setting_names({"thinking": {"type": "enabled"}, "top_p": 1}))
    ['thinking', 'thinking.type', 'top_p']
    """
    for name, value in settings.items():
        yield above + name
        if isinstance(value, Mapping):
            yield from setting_names(value, f"{above}{name}.")


def reserved_complaints(card: Column) -> Iterator[Complaint]:
    """What a card may not send, each name with what to do."""
    yours = [(name, name) for name in (*card.accepts, *setting_names(card.settings))]
    if card.effort_name is not None:
        yours.append((card.effort_name, "effort_name"))
    if card.cap_name is not None:
        yours.append((card.cap_name, "cap_name"))
    for name, place in dict(yours).items():
        if _is_among(name, RESERVED.get(card.dialect, _FOR_ALL)):
            yield (
                f"'{name}' is written by lacre, or would change what is asked",
                "Take it out: every column gets the same message, and one answer to it",
            )
        elif _is_among(name, BOUGHT):
            yield (
                f"'{name}' changes what is bought, or what the vendor keeps",
                "Take it out: price and retention terms on the card are those of a request without it",
            )
        elif place != "cap_name" and _is_among(name, CAPS):
            yield f"'{name}' names the output cap", "Give its value as cap, and its name as cap_name"
    yield from _overlaps(card)


def _overlaps(card: Column) -> Iterator[Complaint]:
    """Names of which one would replace the other, or a part of it."""
    cap = card.cap_name or (_NESTED_CAPS.get(card.dialect) if card.cap is not None else None)
    sent = [cap or "", card.effort_name or "", *card.settings]
    names = sorted((_plain(name), name) for name in sent if name)
    for (one, first), (other, second) in pairwise(names):
        if other == one or other.startswith(f"{one}."):
            yield (
                f"'{first}' and '{second}' are sent in the same place",
                "Write one of them: the other would be replaced without a word",
            )


def _is_among(name: str, reserved: Iterable[str]) -> bool:
    """Whether a name is a reserved one, or stands within one."""
    mine = _plain(name)
    return any(mine == one or mine.startswith(f"{one}.") for one in map(_plain, reserved))


def _plain(name: str) -> str:
    """A name without its spelling: Google takes max_output_tokens and maxOutputTokens for the same.

    >>> _plain("generation_config.maxOutputTokens")
    'generationconfig.maxoutputtokens'
    """
    return name.replace("_", "").casefold()
