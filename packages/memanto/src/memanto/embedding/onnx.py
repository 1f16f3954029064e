"""Running a model from its ONNX file and tokenizer.

fastembed does the same with the same two libraries, but importing it costs half a second (it loads the
hub's client, HTTP clients and image code), which a single command on the shell would pay each time. The
vectors are equal to fastembed's, which a test holds.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memanto.embedding.weights import Weights
from memanto.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnxruntime
    from tokenizers import Tokenizer

_HINT = "Check the files of the model, or reinstall the package that holds them"


@dataclass(frozen=True, slots=True)
class _Loaded:
    session: onnxruntime.InferenceSession
    tokenizer: Tokenizer
    inputs: frozenset[str]


class OnnxModel:
    """A text model that loads at its first use. May be used from several threads at once.

    One text per run and one thread: with int8 weights a batch changes each result by its neighbours
    (cosine down to 0.9966) and saves no CPU on real texts, and more threads spin while they wait.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def run(self, text: str, pair: str | None = None) -> npt.NDArray[np.float32]:
        """Return the model's first output for one text, or one pair of texts, without the batch axis.

        Text beyond the model's limit is cut at its end; lone surrogates count as unknown characters.

        Raises:
            EmbedderError: The model cannot be loaded, its files differ from the pinned ones, or it failed.
        """
        import numpy as np

        loaded = self._loaded or self._load()
        try:
            encoding = loaded.tokenizer.encode(_encodable(text), None if pair is None else _encodable(pair))
            columns = {
                "input_ids": encoding.ids,
                "attention_mask": encoding.attention_mask,
                "token_type_ids": encoding.type_ids,
            }
            feed = {name: np.array([column], np.int64) for name, column in columns.items() if name in loaded.inputs}
            output: npt.NDArray[np.float32] = loaded.session.run(None, feed)[0][0]
        except Exception as error:  # both libraries raise bare `Exception` and subclasses of it
            raise EmbedderError(f"The model {str(self._weights.path)!r} failed: {error}", hint=_HINT) from error
        return output

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._weights.verify()
                try:
                    self._loaded = _open(self._weights)
                except Exception as error:  # both libraries raise bare `Exception` and subclasses of it
                    raise EmbedderError(
                        f"The model {str(self._weights.path)!r} cannot be loaded: {error}", hint=_HINT
                    ) from error
            return self._loaded


def silence_runtime() -> None:
    """Turn off what onnxruntime records and sends about its use, before it is imported.

    Since 1.32 it keeps an event database and a device id in the user's cache unless this variable is set; its
    own switch works only after that has begun.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def _open(weights: Weights) -> _Loaded:
    silence_runtime()
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(weights.folder / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=_context_length(weights))
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # its warnings about the machine's devices are not for our users
    session = onnxruntime.InferenceSession(str(weights.path), options, providers=["CPUExecutionProvider"])
    return _Loaded(session, tokenizer, frozenset(node.name for node in session.get_inputs()))


def _context_length(weights: Weights) -> int:
    """Return the number of tokens the model reads; some exports write 1e30 for "unknown"."""
    config: dict[str, Any] = json.loads((weights.folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    stated: Sequence[object] = (config.get("model_max_length"), config.get("max_length"))
    lengths = [length for length in stated if isinstance(length, int) and 0 < length < 2**31]
    if not lengths:
        raise ValueError("tokenizer_config.json states no positive model_max_length")
    return min(lengths)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
