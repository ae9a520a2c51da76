"""The words that vendors have for the end of an answer, and what each makes of it (SPEC L10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Ending = Literal["whole", "cap", "cut", "refused", "failed"]

ENDINGS: Mapping[str, Ending] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "stop", "eos", "eos_token", "completed", "complete"), "whole"),
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length",
         "model_context_window_exceeded"),
        "cap",
    ),
    **dict.fromkeys(
        ("pause_turn", "pause_run", "compaction", "tool_use", "tool_calls", "tool_call", "function_call",
         "malformed_function_call", "unexpected_tool_call", "too_many_tool_calls", "malformed_response",
         "missing_thought_signature", "language", "other", "no_image", "image_other"),
        "cut",
    ),
    **dict.fromkeys(
        ("refusal", "content_filter", "content_filtered", "safety", "recitation", "blocklist",
         "prohibited_content", "spii", "image_safety", "image_prohibited_content", "image_recitation",
         "model_armor", "guardrail_intervened"),
        "refused",
    ),
    **dict.fromkeys(
        ("error", "abort", "aborted", "cancelled", "canceled", "timeout", "insufficient_system_resource"),
        "failed",
    ),
}  # fmt: skip
"""What each vendor's word for an end makes of an answer, in lower case, whichever dialect it comes in: gateways pass
on the words of the system behind them. A word that is not here leaves the answer as it is, and is counted.

``cut``: text came, but its end is not the column's own (a pause, a call of a tool that nobody gave it, an end for
reasons that the vendor does not tell): it is read like one that ran into its cap. ``failed``: the server broke it off.

>>> ENDINGS["pause_turn"], ENDINGS["MALFORMED_FUNCTION_CALL".casefold()]
('cut', 'cut')
"""
