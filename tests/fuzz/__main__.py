"""Search for texts that break a parser, guided by coverage: `python -m tests.fuzz --seconds N [--only PARSER]`.

Each target runs in a process of its own, since a search by libFuzzer ends its process. What broke a target is
written to a file and shown; put it into `tests/fuzz/test_found.py` once it is mended.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LONGEST: Final = 4_096
"""Bytes of an input."""
SLOW: Final = 20
"""Seconds after which one input counts as hanging."""
MEMORY_MB: Final = 3_072
SEED: Final = 7


def main(arguments: Sequence[str] | None = None) -> int:
    """Search each target in turn; 1 when one of them broke."""
    options = _parser().parse_args(arguments)
    if options.target:
        return _search(options.target, options)
    from tests.fuzz.catalogue import TARGETS

    unknown = set(options.only or ()) - set(TARGETS)
    if unknown:
        print(f"error: no target {min(unknown)!r}; there are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    broken = [name for name in options.only or TARGETS if not _searched(name, options)]
    print(f"broken: {', '.join(broken)}" if broken else "nothing found")
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Search for texts that break a parser.")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default 60)")
    parser.add_argument("--runs", type=int, default=-1, help="inputs for each target, if that is reached first")
    parser.add_argument("--only", action="append", metavar="PARSER", help="may be repeated")
    parser.add_argument("--corpus", type=Path, help="folder that keeps what was found between searches")
    parser.add_argument("--found", type=Path, help="folder for inputs that broke a target (default: a temporary one)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--target", help=argparse.SUPPRESS)
    return parser


def _searched(name: str, options: argparse.Namespace) -> bool:
    """Search one target in a process of its own, and say what came of it."""
    found = options.found or Path(tempfile.mkdtemp(prefix="memanto-fuzz-found-"))
    found.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="memanto-fuzz-") as folder:
        corpus = options.corpus or Path(folder, "corpus")
        command = [
            sys.executable, "-m", "tests.fuzz", "--target", name, "--seconds", str(options.seconds), "--runs",
            str(options.runs), "--corpus", str(corpus), "--found", str(found), "--seed", str(options.seed),
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "TMPDIR": folder}, capture_output=True, text=True, errors="replace",
            check=False,
        )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if line.startswith("stat::number_of_executed_units")]
    runs = told[-1].split()[-1] if told else "?"
    print(f"{name}: {runs} inputs{'' if done.returncode == 0 else f', broken, exit {done.returncode}'}", flush=True)
    if done.returncode != 0:
        broken = sorted(path for path in found.glob(f"{name}-*"))
        if not broken:
            print("\n".join((done.stdout + done.stderr).splitlines()[-20:]))
        for path in broken:
            print(f"{path}: {path.read_bytes()[:400]!r}\n{_replayed(name, path)}")
    elif not options.found:
        found.rmdir()
    return done.returncode == 0


def _replayed(name: str, path: Path) -> str:
    """Return how an input breaks its target, without the search around it."""
    from tests.fuzz.catalogue import TARGETS
    from tests.fuzz.kit import to_text, within_cpu

    try:
        with within_cpu():
            TARGETS[name].check(to_text(path.read_bytes()))
    except Exception as error:
        return "".join(traceback.format_exception(error)[-6:])
    return "it does not break when it is tried again"


def _search(name: str, options: argparse.Namespace) -> int:
    """Search one target in this process, which ends with it."""
    try:
        import atheris
    except ImportError:
        print("error: atheris is not installed; put it into this environment first", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["memanto", "yaml", "tomlkit"], enable_loader_override=False):
        from tests.fuzz.catalogue import TARGETS
    from tests.fuzz.kit import to_bytes, to_text

    target = TARGETS[name]
    corpus = options.corpus / name
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds:
        data = to_bytes(seed)
        (corpus / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)
    words = options.corpus / f"{name}.words"
    words.write_text("".join(f'"{_escaped(to_bytes(word))}"\n' for word in target.words if len(word) < 64), "ascii")
    atheris.Setup(
        [
            sys.argv[0], f"-max_total_time={options.seconds}", f"-runs={options.runs}", f"-max_len={LONGEST}",
            f"-timeout={SLOW}", f"-rss_limit_mb={MEMORY_MB}", f"-artifact_prefix={options.found}/{name}-",
            f"-dict={words}", f"-seed={options.seed}", "-print_final_stats=1", "-verbosity=1", str(corpus),
        ],
        lambda data: target.check(to_text(data)),
    )  # fmt: skip
    atheris.Fuzz()
    return 0


def _escaped(data: bytes) -> str:
    """Return bytes as libFuzzer's dictionaries spell them."""
    return "".join(chr(b) if 32 < b < 127 and chr(b) not in '"\\' else f"\\x{b:02x}" for b in data)


if __name__ == "__main__":
    sys.exit(main())
