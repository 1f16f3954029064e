"""Writes `docs/reference/cli.md` from the commands themselves, so that it cannot be out of date.

python docs/cli_reference.py            write the page
python docs/cli_reference.py --check    exit 1 when the page is not what would be written
"""  # noqa: INP001 - a script beside the pages, not a package

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from memanto.cli.app import make_app

PAGE: Final = Path(__file__).parent / "reference" / "cli.md"

_COMMON: Final = frozenset({"agent", "json", "quiet"})
_HEAD: Final = """\
# Command line

<!-- Written by docs/cli_reference.py from the commands; change their help instead. -->

Every command takes these options, before or after its own:

| Option | Meaning |
| --- | --- |
"""
_TAIL: Final = """
`memanto` alone shows the status and the next commands, `memanto --version` the version, and
`memanto --install-completion` sets up the shell's completion. An id may be cut to any
unique beginning of at least four digits. [Limits and times](limits.md) explains times, [Errors](errors.md) exit
codes. Options that take a time, `--source` and `--provenance` also read several bare words as one value:
`--source claude code`.
"""


def render() -> str:
    """Return the page."""
    root = typer.main.get_command(make_app())
    common = [_option(param) for param in root.params if param.name in _COMMON]
    return _HEAD + "\n".join(common) + "\n" + _TAIL + "".join(_commands(root, "memanto"))


def command_paths() -> list[str]:
    """Return every command as it is typed, such as `memanto agent create`."""
    return [path for path, _ in _walk(typer.main.get_command(make_app()), "memanto")]


def _walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, child in command.commands.items():
        if hasattr(child, "commands"):
            yield from _walk(child, f"{path} {name}")
        else:
            yield f"{path} {name}", child


def _commands(root: Any, program: str) -> Iterator[str]:
    for path, command in _walk(root, program):
        yield f"\n## `{path}`\n\n{_prose(command.help)}\n"
        arguments = [param for param in command.params if param.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and p.name not in _COMMON | {"help"}]
        usage = " ".join([path, *(["[OPTIONS]"] if options else []), *map(_placeholder, arguments)])
        yield f"\n```text\n{usage}\n```\n"
        if arguments or options:
            rows = [*map(_argument, arguments), *map(_option, options)]
            yield "\n| Argument or option | Meaning |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def _placeholder(param: Any) -> str:
    name = param.metavar or param.name
    return name if param.required else f"[{name}]"


def _argument(param: Any) -> str:
    return f"| `{_cell(_placeholder(param))}` | {_cell(param.help or '')} |"


def _option(param: Any) -> str:
    spellings = ", ".join(f"`{one}`" for one in sorted(param.opts, key=len, reverse=True))
    value = "" if param.is_flag else f" `{_cell(param.metavar or str(param.type.name).upper())}`"
    default = f" Default: {param.default}." if param.show_default and not param.is_flag and param.default else ""
    return f"| {spellings}{value} | {_cell(param.help or '')}{default} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _prose(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").strip().split("\n\n"))


def main(arguments: list[str]) -> int:
    """Write the page, or check it."""
    page = render()
    if arguments == ["--check"]:
        if PAGE.read_text("utf-8") == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date; run: python docs/cli_reference.py\n")
        return 1
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
