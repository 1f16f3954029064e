"""How `memanto --help` is laid out: how to begin, then the commands by what they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT: Final = """\
Typed, versioned memory for agents: it survives the session and is shared by every tool.

\b
Begin with
  memanto agent create my-loop
  memanto remember "Ledger pulls lag the source by 5 minutes" --type fact
  memanto recall "how far does the ledger lag"
"""
"""The first lines. The mark before a paragraph keeps its line ends."""

MORE: Final = "`memanto COMMAND --help` shows how one is used; `memanto` alone shows the status and what comes next."

SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "Start here": ("agent", "connect", "status"),
    "Write": (
        "remember", "edit", "verify", "quarantine", "pin", "unpin", "expire", "restore", "supersede", "forget",
    ),
    "Read": ("recall", "answer", "show", "history"),
    "The loop": (
        "goal", "plan", "brief", "guard", "failure", "feedback", "handoff", "run", "runs", "compounding", "check",
        "policy-prompt",
    ),
    "Upkeep": ("daily-summary", "detect-conflicts", "conflicts", "policy", "calibration", "schedule"),
    "Store and settings": (
        "config", "doctor", "export", "import", "reindex", "optimize", "threads", "mcp", "hook",
    ),
}  # fmt: skip
"""Every command, under what it is for."""


MEANT: Final = {
    **dict.fromkeys(("add", "create", "insert", "log", "note", "put", "save", "store", "write"), "remember"),
    **dict.fromkeys(("find", "get", "list", "ls", "query", "read", "retrieve", "search"), "recall"),
    **dict.fromkeys(("delete", "del", "remove", "rm"), "forget"),
    **dict.fromkeys(("init", "login", "new", "setup", "signup"), "agent create"),
    **dict.fromkeys(("change", "update"), "edit"),
    "agents": "agent list",
    "ask": "answer",
    "help": "--help",
    "info": "status",
    "settings": "config show",
    "version": "--version",
}
"""Words that people try first, and what they mean by them."""


class HelpPage(TyperGroup):
    """The root of the commands; its help lists them in `SECTIONS`, before the options."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and args[0] in MEANT:
            ctx.fail(f"No such command {args[0]!r}. Did you mean `memanto {MEANT[args[0]]}`?")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands), default=0)
        for title, names in self._sections():
            rows = [(name.ljust(width), self.commands[name].get_short_help_str(formatter.width)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: the sections come before the options."""

    def _sections(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each title with the commands there are; of a single command only its own section is left."""
        for title, names in SECTIONS.items():
            if known := [name for name in names if name in self.commands]:
                yield title, known
