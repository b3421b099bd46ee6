"""Talking to models: what is asked (`Request`), what comes back (`Reply`), and `load`, which makes a model."""

from metagym.chat.layers import aclose, find_layer
from metagym.chat.loading import load
from metagym.chat.scripted import scripted
from metagym.chat.types import ChatModel, Message, Reply, Request
from metagym.episodes import Usage

__all__ = ["ChatModel", "Message", "Reply", "Request", "Usage", "aclose", "find_layer", "load", "scripted"]
