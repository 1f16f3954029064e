# ruff: noqa: INP001 - a script, run by its path
"""Write `aio.pyi`, what type checkers and editors know of `AsyncMemanto`, from the classes it is derived from.

python scripts/make_async_stub.py            # writes aio.pyi
python scripts/make_async_stub.py --check    # exit 1 when that file is not what would be written
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from memanto import aio
from memanto.client import Memanto
from memanto.loop.isolate import Scratch
from memanto.loop.run import Run

STUB: Final = Path(aio.__file__).with_suffix(".pyi")
LINE: Final = 120
_HEAD: Final = """\
# ruff: noqa: A002, PYI021 - the parameters of `Memanto`, and docstrings for editors that read nothing else
# Types of `memanto.aio`. Written by scripts/make_async_stub.py; do not edit.
"""
_RETURNS: Final = {"Run": "AsyncRun", "Iterator[str]": "list[str]", "ScratchMemory": "AsyncMemanto"}
_BLOCKS: Final = {"Run": "AsyncBlock[AsyncRun]", "Scratch": "AsyncBlock[AsyncScratch]"}
_LEFT: Final = "kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None"
_KNOWN: Final = {
    "Generic": "typing", "Memanto": "memanto.client", "Self": "typing", "TypeVar": "typing", "TracebackType": "types",
}  # fmt: skip


def render() -> str:
    """Return the stub."""
    body = "\n\n".join("\n".join(lines) for lines in (_main(), _run(), _scratch(), _block()))
    return f'{_HEAD}\n{_imports(body)}\n_T = TypeVar("_T")\nWORKERS: int\nBLOCKS: frozenset[str]\n\n{body}\n\n{_END}'


_END: Final = "def public_methods(of: type) -> list[str]: ...\n"


def _main() -> Iterator[str]:
    yield "class AsyncMemanto:"
    yield from _method(Memanto.__init__, "__init__", asynchronous=False)
    yield from _properties(aio.AsyncMemanto)
    yield from ("    async def open(self) -> Self: ...", "    async def close(self) -> None: ...")
    yield from _context("Self")
    for name in aio.public_methods(Memanto):
        if name not in {"open", "close"}:
            yield from _method(getattr(Memanto, name), name, asynchronous=name not in aio.BLOCKS)


def _run() -> Iterator[str]:
    yield "class AsyncRun:"
    yield from _properties(Run)
    yield from _context("Self")
    for name in aio.public_methods(Run):
        yield from _method(getattr(Run, name), name)


def _scratch() -> Iterator[str]:
    yield "class AsyncScratch:"
    yield from (
        "    @property",
        "    def task(self) -> str: ...",
        "    @property",
        "    def receipt(self) -> Receipt | None: ...",
    )
    yield from _properties(Scratch)
    for name in aio.public_methods(Scratch):
        yield from _method(getattr(Scratch, name), name)


def _block() -> Iterator[str]:
    yield "class AsyncBlock(Generic[_T]):"
    yield from _context("_T")


def _context(entered: str) -> Iterator[str]:
    yield f"    async def __aenter__(self) -> {entered}: ..."
    yield from _wrapped(f"    async def __aexit__(self, {_LEFT}) -> None: ...")


def _properties(of: type) -> Iterator[str]:
    for name, attribute in vars(of).items():
        if isinstance(attribute, property) and not name.startswith("_"):
            returned = inspect.signature(attribute.fget).return_annotation  # type: ignore[arg-type]
            yield from ("    @property", f"    def {name}(self) -> {_RETURNS.get(returned, returned)}: ...")


def _method(function: Callable[..., Any], name: str, *, asynchronous: bool = True) -> Iterator[str]:
    """Yield the lines of a method: its parameters, what it returns when awaited, and its docstring's first line."""
    signature = inspect.signature(function)
    returned = str(signature.return_annotation)
    told = _RETURNS.get(returned, returned) if asynchronous else _BLOCKS.get(returned, returned)
    keyword = "async def" if asynchronous else "def"
    if name == "__init__":
        yield from _wrapped(f"    def __init__({_parameters(signature)}) -> None: ...")
        return
    yield from _wrapped(f"    {keyword} {name}({_parameters(signature)}) -> {told}:")
    yield f'        """{(inspect.getdoc(function) or "See `Memanto`.").splitlines()[0]}"""'


def _parameters(signature: inspect.Signature) -> str:
    told: list[str] = []
    keyword_only = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            told.append("*")
        stars = "**" if one.kind is one.VAR_KEYWORD else "*" if one.kind is one.VAR_POSITIONAL else ""
        keyword_only = keyword_only or one.kind is one.VAR_POSITIONAL
        annotation = "" if one.annotation is one.empty else f": {one.annotation}"
        told.append(f"{stars}{one.name}{annotation}{_default(one)}")
    return ", ".join(told).replace("'", '"')


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    return f" = {value!r}" if type(value) in {bool, int, float, str, type(None)} or value == () else " = ..."


def _wrapped(line: str) -> Iterator[str]:
    """Yield a signature on one line, or with one parameter to a line where it is too long."""
    if len(line) <= LINE:
        yield line
        return
    head, _, rest = line.partition("(")
    inside, _, tail = rest.rpartition(") ->")
    yield f"{head}("
    yield from (f"        {parameter}," for parameter in _split(inside))
    yield f"    ) ->{tail}"


def _split(parameters: str) -> Iterator[str]:
    """Yield parameters one by one; commas inside brackets part none."""
    depth = start = 0
    for index, character in enumerate(parameters):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            yield parameters[start:index].strip()
            start = index + 1
    yield parameters[start:].strip()


def _imports(body: str) -> str:
    """Return the imports of the names that the stub uses, found where the classes' modules import them."""
    homes = dict(_KNOWN)
    for of in (*Memanto.__mro__[:-1], Run, Scratch, aio.AsyncMemanto):
        homes |= _imported(sys.modules[of.__module__])
    used = set(re.findall(r"\w+", re.sub(r'"""[^"]*"""', "", body))) | {"TypeVar"}
    wanted: dict[str, list[str]] = {}
    for name in sorted(used & set(homes)):
        wanted.setdefault(homes[name], []).append(name)
    order = sorted(wanted, key=lambda module: (module.startswith("memanto"), module))
    lines = [f"from {module} import {', '.join(wanted[module])}" for module in order]
    first_own = next(i for i, line in enumerate(lines) if line.startswith("from memanto"))
    return "\n".join([*lines[:first_own], "", *lines[first_own:], ""])


def _imported(module: Any) -> dict[str, str]:
    """Return the names that a module imports from others, also those for type checkers alone, with their modules."""
    top = ast.parse(inspect.getsource(module)).body
    guarded = [inner for node in top if isinstance(node, ast.If) for inner in node.body]
    return {
        alias.name: node.module
        for node in (*top, *guarded)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
        if not inspect.isfunction(getattr(module, alias.name, None))  # a parameter may have a function's name
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the stub, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = render()
    if not parser.parse_args(arguments).check:
        STUB.write_text(text, "utf-8")
        return 0
    if STUB.exists() and STUB.read_text("utf-8") == text:
        return 0
    print(f"{STUB} is out of date: python scripts/make_async_stub.py", file=sys.stderr)  # noqa: T201 - a script
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
