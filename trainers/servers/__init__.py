"""Servers that a run owns, and questions to servers that it does not own.

with Servers(folder) as servers:
actor = servers.start(vllm("actor", "Qwen/Qwen2.5-7B-Instruct", max_model_len=16_384))
model = metagym.chat.load(actor.spec())
"""

from __future__ import annotations

from metagym_trainers.servers.facts import address_of, inspect, recorded
from metagym_trainers.servers.launch import GROUP_PORT, PORT, Launch, vllm
from metagym_trainers.servers.supervisor import Server, Servers

__all__ = ["GROUP_PORT", "PORT", "Launch", "Server", "Servers", "address_of", "inspect", "recorded", "vllm"]
