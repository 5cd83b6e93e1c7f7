"""``python -m runledger``."""

from __future__ import annotations

import sys

from runledger.cli import main

if __name__ == "__main__":
    sys.exit(main())
