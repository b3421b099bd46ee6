"""All peers: ``python -m benchmarks.peers`` is ``python -m benchmarks --only peers``."""

from __future__ import annotations

import sys

from benchmarks.__main__ import main

if __name__ == "__main__":
    sys.argv = [sys.argv[0], "--only", "peers", *sys.argv[1:]]
    sys.exit(main())
