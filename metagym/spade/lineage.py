"""Which program was made from which: the graph of a memory, as JSON and as a picture for Graphviz."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from metagym.spade.records import EnvView

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def lineage(views: Sequence[EnvView]) -> dict[str, Any]:
    """Nodes and edges of the programs, in the order of insertion.

    Returns:
        ``nodes``: objects with ``digest, title, skill, round, live, known, p0, regret``; ``known`` is False for a
        parent that was never in the memory. ``edges``: pairs ``[parent, child]``.
    """
    nodes = [
        {
            "digest": view.digest,
            "title": view.record.title,
            "skill": view.skill,
            "round": view.record.round,
            "live": view.live,
            "known": True,
            "p0": view.p0,
            "regret": view.regret,
        }
        for view in views
    ]
    edges = [[parent, view.digest] for view in views for parent in view.record.parents]
    known = {view.digest for view in views}
    strangers = sorted({parent for parent, _ in edges} - known)
    empty = {"skill": "", "round": None, "live": False, "known": False, "p0": None, "regret": None}
    nodes += [{"digest": digest, "title": digest[:12], **empty} for digest in strangers]
    return {"nodes": nodes, "edges": edges}


def to_dot(graph: Mapping[str, Any]) -> str:
    """The graph of `lineage` in Graphviz's language; evicted programs are dashed, unknown ones dotted.

    Titles are the designers' words: they are quoted and cut at 60 characters, and nothing in them is an instruction.
    """
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for node in graph["nodes"]:
        style = "dotted" if not node["known"] else "solid" if node["live"] else "dashed"
        where = f"{node['skill']}, round {node['round']}" if node["known"] else "not in this memory"
        lines.append(f"  {_quoted(node['digest'])} [style={style}, label={_quoted(node['title'], where)}];")
    lines += [f"  {_quoted(parent)} -> {_quoted(child)};" for parent, child in graph["edges"]]
    return "\n".join((*lines, "}", ""))


def would_loop(digest: str, parents: Sequence[str], known: Mapping[str, Sequence[str]]) -> bool:
    """Whether a program with these parents would be its own ancestor; `known` maps digests to parents."""
    left, seen = list(parents), set()
    while left:
        parent = left.pop()
        if parent == digest:
            return True
        if parent not in seen:
            seen.add(parent)
            left.extend(known.get(parent, ()))
    return False


def _quoted(*lines: str) -> str:
    """A quoted text of several lines: blanks for control characters, backslashes and quotes escaped."""
    plain = (_CONTROLS.sub(" ", line)[:60].replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(plain) + '"'
