"""What the user configured, made into a store and models: the one place that joins settings and parts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from memanto.config import Settings, check_offline, is_loopback, load_settings
from memanto.errors import ConfigurationError
from memanto.stores import Embedded, Server, Store

if TYPE_CHECKING:
    from memanto.embedding import Choice
    from memanto.embedding.port import Embedder, Reranker
    from memanto.llm.port import LanguageModel


def current_settings() -> Settings:
    """Read the settings that hold in this process's environment and working directory."""
    return load_settings(os.environ, Path.cwd())


def configured_store(settings: Settings | None = None) -> Store:
    """Return the store the user chose: embedded in their home unless they chose a server.

    Raises:
        ConfigurationError: A server was chosen and its URL or key is missing, or it is not allowed offline.
    """
    chosen = current_settings() if settings is None else settings
    check_offline(chosen)
    if chosen.backend != "qdrant":
        return Embedded(chosen.home, durability=chosen.durability)
    if chosen.qdrant_url is None:
        raise ConfigurationError(
            "the backend is 'qdrant' and no URL is set", hint="run `memanto config backend qdrant --url URL`"
        )
    return Server(chosen.qdrant_url, api_key=os.environ.get(chosen.api_key_env) or None)


def configured_embedder(settings: Settings | None = None) -> Choice[Embedder]:
    """Return the embedder the user chose, or why there is none."""
    from memanto.embedding import default_embedder

    chosen = current_settings() if settings is None else settings
    return default_embedder(
        model=chosen.embed_model,
        folder=chosen.embed_model_path,
        cache=model_cache(chosen),
        allow_download=may_download(chosen),
    )


def configured_reranker(settings: Settings | None = None) -> Choice[Reranker]:
    """Return the cross-encoder, or why there is none."""
    from memanto.embedding import default_reranker

    chosen = current_settings() if settings is None else settings
    return default_reranker(cache=model_cache(chosen), allow_download=may_download(chosen))


def configured_model(settings: Settings | None = None) -> LanguageModel | None:
    """Return the language model the user named, or `None` when they named none.

    Raises:
        ConfigurationError: Only one of `llm_base_url` and `llm_model` is set, or the address is not allowed offline.
    """
    chosen = current_settings() if settings is None else settings
    url, model = chosen.llm_base_url, chosen.llm_model
    if url is None and model is None:
        return None
    if url is None or model is None:
        given, missing = ("llm_model", "llm_base_url") if url is None else ("llm_base_url", "llm_model")
        raise ConfigurationError(
            f"{given} is set and {missing} is not", hint=f"`memanto config set {missing} VALUE` completes it"
        )
    check_offline(chosen)
    from memanto.llm.openai import OpenAiModel

    return OpenAiModel(
        url,
        model,
        api_key=chosen.llm_api_key(os.environ),
        timeout=chosen.llm_timeout,
        max_tokens=chosen.llm_max_tokens,
        context_tokens=chosen.llm_context_tokens,
        local=is_loopback(url),
    )


def may_download(settings: Settings) -> bool:
    """Whether models may be fetched from the network."""
    return not settings.offline and settings.backend != "on-prem"


def model_cache(settings: Settings) -> Path:
    """Return the folder that downloaded models are kept in."""
    return settings.home / "models"
