"""The git hooks of the outside: ``python -m runledger.demo.hook SIDE WITNESS`` reports each branch."""

from __future__ import annotations

import os
import sys

from runledger.demo.witness import Moment, tell

__all__: list[str] = []

if __name__ == "__main__":
    for line in sys.stdin:
        branch = line.split()[2].removeprefix("refs/heads/")
        tell(int(sys.argv[2]), Moment(sys.argv[1], "push", branch), os.getpgrp())
