"""Options and arguments that several commands share, and the reading of their values."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from memanto.cli.bounded import decimal, whole
from memanto.config_keys import expanded
from memanto.errors import InvalidInputError
from memanto.models import MAX_LIMIT, MEMORY_GROUPS, MemoryType, Provenance, Status

_END = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
_TIME = "date, time or words such as 'last month'"


def _complete(values: Iterable[str]) -> object:
    offered = list(values)
    return lambda incomplete: [value for value in offered if value.startswith(incomplete)]


IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="A memory's id, or a unique beginning of it.", show_default=False)
]
ReasonOption = Annotated[
    str, typer.Option("--reason", "-r", metavar="TEXT", help="Why, for the history.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

TypeOption = Annotated[
    str | None,
    typer.Option(
        "--type", "-t", metavar="TYPE", show_default=False, autocompletion=_complete(MemoryType),
        help=f"One of {', '.join(MemoryType)}.",
    ),
]  # fmt: skip
TypesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--type", "-t", metavar="TYPE", show_default=False, autocompletion=_complete(MemoryType),
        help="Only this type; may be repeated.",
    ),
]  # fmt: skip
KindOption = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="KIND", show_default=False, autocompletion=_complete(MEMORY_GROUPS),
        help=f"Only the types of one kind: {', '.join(MEMORY_GROUPS)}.",
    ),
]  # fmt: skip
StatusOption = Annotated[
    list[str] | None,
    typer.Option(
        "--status", metavar="STATUS", show_default=False, autocompletion=_complete(Status),
        help=f"Memories of this status instead of active ones; may be repeated: {', '.join(Status)}.",
    ),
]  # fmt: skip
ProvenanceOption = Annotated[
    str | None,
    typer.Option(
        "--provenance", "-p", metavar="HOW", show_default=False, autocompletion=_complete(Provenance),
        help=f"How it is known: {', '.join(Provenance)}.",
    ),
]  # fmt: skip
TitleOption = Annotated[str | None, typer.Option("--title", help="At most 100 characters.", show_default=False)]
ConfidenceOption = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        "-c",
        metavar="0..1",
        parser=decimal(0, 1, such_as=0.9),
        help="How sure it is.",
        show_default=False,
    ),
]
TagsOption = Annotated[
    str | None, typer.Option("--tags", metavar="A,B", help="Tags, separated by commas.", show_default=False)
]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", "-s", metavar="NAME", help="Who says so: a person, tool or agent.", show_default=False),
]
SourceRefOption = Annotated[
    str | None,
    typer.Option("--source-ref", metavar="REF", help="Where it comes from: a URL, path or id.", show_default=False),
]
ValidFromOption = Annotated[
    str | None,
    typer.Option("--valid-from", metavar="TIME", help=f"True in the world from then on ({_TIME}).", show_default=False),
]
ValidToOption = Annotated[
    str | None,
    typer.Option("--valid-to", metavar="TIME", help="True in the world until then, exclusive.", show_default=False),
]
LimitOption = Annotated[
    int,
    typer.Option(
        "--limit", "-n", metavar="N", parser=whole(1, MAX_LIMIT, such_as=10), help="At most so many, 1 to 100."
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Check everything and store nothing.")]


def listed(values: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the words of a comma list, or of a repeated option whose values may be comma lists."""
    if values is None:
        return ()
    given = [values] if isinstance(values, str) else values
    return tuple(word.strip() for value in given for word in value.split(",") if word.strip())


def read_text(source: str) -> str:
    """Return the text of a file, or of standard input for `-`; it is UTF-8 on every platform.

    Raises:
        InvalidInputError: There is no such file, it cannot be read or is not UTF-8, or standard input is empty.
    """
    name = "standard input" if source == "-" else source
    if source == "-" and sys.stdin.isatty():
        sys.stderr.write(f"note: reading standard input; {_END} ends it\n")
    try:
        data = sys.stdin.buffer.read() if source == "-" else expanded(Path(source)).read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {name!r}: {error.strerror or error}", hint="name a file, or - for standard input"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{name!r} is not UTF-8 (byte {error.start})", hint="convert it to UTF-8 first"
        ) from error
    if source == "-" and not text.strip():
        raise InvalidInputError("standard input is empty", hint="pipe something into the command, or leave out the -")
    return text
