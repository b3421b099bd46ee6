"""``metagym view``: a local web page over many runs; it reads, and never writes.

Read next: `records` (a record file read bit by bit), `catalogue` (the runs of a folder), `pages` (HTML), `lists`
(JSON), `server` (HTTP on the loopback alone).
"""

from metagym.runs.view.catalogue import Catalogue as Catalogue
from metagym.runs.view.server import ViewServer as ViewServer

__all__ = ["Catalogue", "ViewServer"]
