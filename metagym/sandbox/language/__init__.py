"""The language layer of the sandbox: what programs may say, and what their words do.

    compiled = compile_program(source)                      # or ProgramRejected; nothing of it has run
    globals = namespace(compiled, seed, print_to=lines.append)
    exec(compiled.code, globals)
    env = globals[compiled.class_name]()

It is a filter and a convenience, not the boundary: the boundary is the worker's process (`metagym.sandbox.confine`).
"""

from metagym.sandbox.language.compiler import Compiled, compile_program, pack, unpack
from metagym.sandbox.language.names import shown
from metagym.sandbox.language.running import namespace, reseed, warm_up

__all__ = ["Compiled", "compile_program", "namespace", "pack", "reseed", "shown", "unpack", "warm_up"]
