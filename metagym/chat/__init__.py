"""Talking to models: what is asked (`Request`), what comes back (`Reply`), and `load`, which makes a model.

Tool calls that a model writes into its text are read with `parse_tool_arguments`.
"""

from metagym.chat.layers import aclose, find_layer
from metagym.chat.loading import load
from metagym.chat.scripted import scripted
from metagym.chat.tools import ToolArguments, ToolParseMessage, parse_tool_arguments
from metagym.chat.types import ChatModel, Message, Reply, Request
from metagym.episodes import Usage

__all__ = [
    "ChatModel",
    "Message",
    "Reply",
    "Request",
    "ToolArguments",
    "ToolParseMessage",
    "Usage",
    "aclose",
    "find_layer",
    "load",
    "parse_tool_arguments",
    "scripted",
]
