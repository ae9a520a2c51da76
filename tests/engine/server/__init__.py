"""A real server on loopback that speaks the dialects and misbehaves as it is told.

Asyncio streams rather than an HTTP library: a server that lies about its length, resets a connection or cuts
an answer in half is what a library exists to prevent.
"""

from tests.engine.server.acts import (
    Act,
    Drop,
    Hang,
    Limit,
    Reset,
    Say,
    Script,
    Seen,
    Send,
    Trickle,
    always,
    in_turn,
)
from tests.engine.server.wire import Server

__all__ = [
    "Act",
    "Drop",
    "Hang",
    "Limit",
    "Reset",
    "Say",
    "Script",
    "Seen",
    "Send",
    "Server",
    "Trickle",
    "always",
    "in_turn",
]
