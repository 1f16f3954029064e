"""What is wrong with a command line, in words that say how to mend it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final

from memanto.cli.bounded import Number
from memanto.cli.style import columns

_DASHES: Final = "put `--` before a text that begins with '-'"
_SHORTEST: Final = 4
"""Characters of the beginning of an option, dashes included, that is read as the option."""
_ALIKE: Final = 0.7
"""Share of letters in common, by `difflib`, from which one name may have been meant by another."""


def explained(error: Any, program: str) -> tuple[str, str, str]:
    """Return the code, the message and the next step for a usage error of Typer.

    Args:
        error: Has the context of the command as `ctx`, and the parameter as `param`, where there is one.
        program: What to ask for help where there is no context.
    """
    context = getattr(error, "ctx", None)
    path = context.command_path if context else program
    parameter = getattr(error, "param", None)
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return "usage", *_unknown_option(error, context, path)
    if kind == "MissingParameter" and parameter is not None:
        return "usage", f"{_name(parameter)} is missing", _asked_for(parameter, path)
    if kind == "BadParameter" and parameter is not None:
        return "invalid_input", f"{_name(parameter)} {_sentence(error.message)}", _such_as(parameter, path)
    message = _sentence(error.format_message() if hasattr(error, "format_message") else str(error))
    message = message[:1].lower() + message[1:]
    if context is not None and context.parent is not None and hasattr(context.command, "commands"):
        if message == "missing command":
            message = f"`{path}` needs one of its commands"
        return "usage", message, "\n".join(["one of", *_subcommands(context.command, path)])
    return "usage", message, help_of(path)


def help_of(path: str) -> str:
    """Return where the use of a command is explained."""
    return f"`{path} --help` shows how it is used"


def _unknown_option(error: Any, context: Any, path: str) -> tuple[str, str]:
    """Return what to say of an option that does not exist: the one that was meant, where that is clear."""
    given: str = error.option_name
    parameters = context.command.params if context else []
    known = [name for one in parameters for name in one.opts if name.startswith("--")]
    if meant := _meant(given.replace("_", "-").lower(), known):
        return f"no such option: {given}. Did you mean {' or '.join(meant)}?", help_of(path)
    takes_text = any(one.param_type_name == "argument" for one in parameters)
    return f"no such option: {given}", f"{_DASHES}; {help_of(path)}" if takes_text else help_of(path)


def _meant(given: str, known: Sequence[str]) -> list[str]:
    """Return the options that begin so, or the one that is spelled most like it."""
    begun = [name for name in known if len(given) >= _SHORTEST and name.startswith(given)]
    bare = {name.lstrip("-"): name for name in known}
    alike = get_close_matches(given.lstrip("-"), bare, n=1, cutoff=_ALIKE)
    return begun or [bare[name] for name in alike]


def _name(parameter: Any) -> str:
    """Return a parameter as it is typed."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name)
    return str(max(parameter.opts, key=len))


def _asked_for(parameter: Any, path: str) -> str:
    about = f"{_sentence(parameter.help)}; " if parameter.help else ""
    return f"{about}{help_of(path)}"


def _such_as(parameter: Any, path: str) -> str:
    reader = getattr(parameter.type, "func", None)
    if not isinstance(reader, Number):
        return help_of(path)
    return f"for example {_name(parameter)} {reader.such_as:g}; {help_of(path)}"


def _subcommands(group: Any, path: str) -> Iterator[str]:
    yield from columns(
        ([f"{path} {name}", one.get_short_help_str(80)] for name, one in group.commands.items()), indent="  "
    )


def _sentence(text: str) -> str:
    return text.strip().rstrip(".")
