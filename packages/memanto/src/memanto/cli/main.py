"""The command line `memanto`: the entry point, and what every command shares at its outermost edge."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

PROGRAM: Final = "memanto"
USAGE: Final = 2
INTERRUPTED: Final = 130


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0 done, 1 our fault, 2 usage, 3 a named thing was not found or a check failed, 4 a conflict or a lock that
    was not handed over, 5 the backend failed, 130 interrupted.

    Args:
        argv: Arguments without the program's name; those of the process by default.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        from memanto import __version__

        sys.stdout.write(f"{PROGRAM} {__version__}\n")
        return 0
    if arguments[:1] == ["hook"] and not {"--help", "-h"} & set(arguments):
        # A tool waits for its hook at every call, and reading the tree of commands takes as long as the hook does.
        from memanto.connect.hooks import main

        return main(arguments[1:], os.environ)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name from the file system may hold bytes that are no UTF-8; a message about it must not fail.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            _show_own_warnings(quiet="--quiet" in arguments or "-q" in arguments)
            status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has enough. The interpreter flushes once more at exit, which must not fail.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


def _run(arguments: Sequence[str]) -> int:
    """Run the application and report what goes wrong."""
    from memanto.errors import MemantoError

    as_json = "--json" in arguments
    try:
        return _dispatch(arguments, as_json=as_json)
    except MemantoError as error:
        hint = error.hint or (_help_hint(arguments) if error.exit_code == USAGE else "")
        return _report(error.code, error.message, hint, error.exit_code, as_json=as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        # The outermost edge: a fault of ours is one line for the user, not a traceback.
        if os.environ.get("MEMANTO_DEBUG") == "1":
            raise
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        return _report("internal", message, "MEMANTO_DEBUG=1 shows where", 1, as_json=as_json)


def _dispatch(arguments: Sequence[str], *, as_json: bool) -> int:
    """Let Typer find and run the command; its usage errors are reported like ours."""
    import typer

    from memanto.cli.app import make_app

    try:
        command = typer.main.get_command(make_app(_command_name(arguments)))
        status = command.main(arguments, prog_name=PROGRAM, standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # so Typer leaves when nobody reads any more
            raise left.__context__ from None
        raise
    except Exception as error:
        # Typer exports one of its usage errors; the class that all of them share is its parent.
        if not isinstance(error, typer.BadParameter.__mro__[1]):
            raise
        from memanto.cli.usage import explained

        return _report(*explained(error, _path(arguments)), USAGE, as_json=as_json)
    return status if isinstance(status, int) else 0


def _command_name(arguments: Sequence[str]) -> str | None:
    """Return the first argument that is neither a common option nor the value of one; none where all are asked for."""
    following = iter(arguments)
    for argument in following:
        if argument in {"--help", "-h"}:
            return None
        if argument == "--agent":
            next(following, None)
        elif not argument.startswith("-"):
            return argument
    return None


def _report(code: str, message: str, hint: str, status: int, *, as_json: bool) -> int:
    """Write an error to standard error and return the exit status that stands for it."""
    if as_json:
        text = json.dumps({"error": {"code": code, "message": message, "hint": hint}}, ensure_ascii=False)
    else:
        from memanto.cli.style import palette_for

        paint = palette_for(sys.stderr)
        lines = [f"{paint('bad', f'error[{code}]')}: {paint.safe(message)}", *paint.safe(hint).splitlines()]
        text = "\n  ".join(lines)
    sys.stderr.write(f"{text}\n")
    return status


def _help_hint(arguments: Sequence[str]) -> str:
    """Return where to look when an error does not say what to do."""
    from memanto.cli.usage import help_of

    return help_of(_path(arguments))


def _path(arguments: Sequence[str]) -> str:
    """Return the program with the first word that may be a command."""
    return f"{PROGRAM} {_command_name(arguments) or ''}".rstrip()


def _show_own_warnings(*, quiet: bool) -> None:
    """Show warnings of this project once each as notes; those of libraries are not for the user."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_where: object, **_rest: object) -> None:
        text = str(message)
        if not quiet and category.__module__.startswith("memanto.") and text not in seen:
            seen.add(text)
            sys.stderr.write(f"note: {text}\n")

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)
    warnings.showwarning = show
