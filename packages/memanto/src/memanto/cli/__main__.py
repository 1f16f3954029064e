"""`python -m memanto.cli`: the command line where its launcher is not on the path."""

from __future__ import annotations

import sys

from memanto.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
