"""Stages 1 and 2: what the text alone tells. What the sandbox's own policy refuses is told at loading, in its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from metagym.errors import ProgramRejected
from metagym.spade.program import CODE_OF, EnvProgram, env_class, inherited, syntax_tree
from metagym.spade.validation.report import CODES, Refusal

_DRAWING = ("random", "numpy", "numpy.random", "secrets", "uuid")
_OWN = ("Random", "default_rng", "Generator", "PCG64", "SeedSequence", "RandomState")
"""What may be made of a module of random numbers: generators of the program's own. One that is never seeded is caught
where episodes are played again."""

_NEEDS: dict[str, tuple[str, ...]] = {
    "reset": ("seed",),
    "step": ("action",),
    "hint": (),
    "solution": (),
    "tools": (),
    "state": (),
    "begin": (),
    "turns": (),
    "reference_policy": ("observation", "state"),
}
"""Methods of the contract and the arguments that they are called with. `reset` is called with ``seed=``; the others
with arguments by position, whose names are free."""


def parsed(source: str | bytes) -> EnvProgram:
    """Stage 1, and the class of stage 2.

    Raises:
        Refusal: With the code and the words of `EnvProgram.parse`.
    """
    try:
        return EnvProgram.parse(source)
    except ProgramRejected as refused:
        raise Refusal(refused.code, refused.message, refused.line) from None


def check_static(program: EnvProgram) -> None:
    """Stage 2: signatures, and generators that no seed reaches.

    Raises:
        Refusal: ``bad_signature``, ``global_rng`` or ``metadata_missing`` (tools without their action format).
    """
    tree = syntax_tree(program.source)
    node = env_class(tree, program.class_name)
    methods = {
        item.name: item
        for found in reversed(inherited(tree, node))
        for item in found.body
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for name, method in methods.items():
        if name in _NEEDS:
            _check_signature(name, method)
    if "solution" not in methods and "reference_policy" not in methods:
        raise Refusal(
            "bad_signature",
            "the class needs solution(self), a list of actions that solves the episode begun by the last reset, or "
            "reference_policy(self, observation, state), the next action of it",
            node.lineno,
        )
    _check_init(methods.get("__init__"))
    if program.has_tools != (program.action_format == "tool_call"):
        raise Refusal(
            "metadata_missing",
            "action_format: tool_call and tools belong together: a program with tools(self), or of the class ToolEnv, "
            f"has that format and no other has; the header says {program.action_format}",
            1,
        )
    for line, name in _global_draws(tree):
        raise Refusal(
            "global_rng",
            f"{name} draws from a generator that the seed does not reach; draw from self.rng, which is a random.Random "
            "made from the seed before each reset",
            line,
        )


def from_policy(refused: ProgramRejected) -> Refusal:
    """The refusal for what the sandbox's policy says: its words and line, under one of our codes."""
    code = CODE_OF.get(refused.code, refused.code)
    if code not in CODES:
        code = "forbidden_call"  # names, attributes, methods, syntax that programs are not given
    return Refusal(code, f"{refused.message} [{refused.code}]", refused.line)


def _check_signature(name: str, method: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    arguments = method.args
    positional = [item.arg for item in (*arguments.posonlyargs, *arguments.args)][1:]
    needed = _NEEDS[name]
    shown = ", ".join(("self", *needed))
    wrong = Refusal(
        "bad_signature", f"{name} is written {name}({shown}), further arguments with defaults", method.lineno
    )
    if isinstance(method, ast.AsyncFunctionDef) or _names(method) & {"staticmethod", "classmethod", "property"}:
        raise wrong
    required = len(positional) - len(arguments.defaults)
    open_names = [
        item.arg for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if not default
    ]
    if name == "reset":
        by_name = {item.arg for item in (*arguments.args, *arguments.kwonlyargs)}
        extra = [item for item in positional[:required] if item != "seed"] + [
            item for item in open_names if item != "seed"
        ]
        if ("seed" not in by_name and not arguments.kwarg) or extra:
            raise wrong
    elif required > len(needed) or open_names or (len(positional) < len(needed) and not arguments.vararg):
        raise wrong


def _check_init(init: ast.FunctionDef | ast.AsyncFunctionDef | None) -> None:
    if init is None:
        return
    positional = [*init.args.posonlyargs, *init.args.args][1:]
    if len(positional) > len(init.args.defaults) or None in init.args.kw_defaults:
        raise Refusal("bad_signature", "__init__ is called without arguments: give each of them a default", init.lineno)


def _names(method: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {item.id for item in method.decorator_list if isinstance(item, ast.Name)}


def _global_draws(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every use of a generator that is not the program's own."""
    modules: dict[str, str] = {}
    functions: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in _DRAWING:
                    modules[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
        elif isinstance(node, ast.ImportFrom) and node.module in _DRAWING:
            for alias in node.names:
                if f"{node.module}.{alias.name}" == "numpy.random":
                    modules[alias.asname or alias.name] = "numpy.random"
                elif node.module != "numpy":
                    functions[alias.asname or alias.name] = alias.name
    # Models forget imports, and the sandbox gives these two without one.
    modules.setdefault("random", "random")
    modules.setdefault("np", "numpy")
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    annotations = {id(part) for node in ast.walk(tree) for part in _annotation_parts(node)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in annotations:
            name = _drawn(node, modules, functions, bound)
            if name and name.rpartition(".")[2] not in _OWN:
                yield node.lineno, name


def _drawn(node: ast.Name | ast.Attribute, modules: dict[str, str], functions: dict[str, str], bound: set[str]) -> str:
    """The dotted name, if it is a member of a module of random numbers; else nothing."""
    if isinstance(node, ast.Name):
        known = node.id in functions and node.id not in bound and isinstance(node.ctx, ast.Load)
        return functions[node.id] if known else ""
    if isinstance(node.value, ast.Name) and node.value.id not in bound:
        module = modules.get(node.value.id, "")
        return f"{module}.{node.attr}" if module and module != "numpy" else ""
    if (
        isinstance(node.value, ast.Attribute)
        and node.value.attr == "random"
        and isinstance(node.value.value, ast.Name)
        and modules.get(node.value.value.id) == "numpy"
        and node.value.value.id not in bound
    ):
        return f"numpy.random.{node.attr}"
    return ""


def _annotation_parts(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if part is not None:
            yield from ast.walk(part)
