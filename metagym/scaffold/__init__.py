"""The plugin project that ``metagym new family`` writes: names checked, files made from templates."""

from metagym.scaffold.names import Names, names_for
from metagym.scaffold.project import FILES, write_family

__all__ = ["FILES", "Names", "names_for", "write_family"]
