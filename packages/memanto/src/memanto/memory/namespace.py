"""A namespace as memory sees it: its describing point, its slots, and the vector space it is bound to."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memanto.embedding.port import EmbedderIdentity
from memanto.engine.port import Engine, Point
from memanto.engine.schema import SCHEMA_VERSION
from memanto.errors import (
    NotFoundError,
    SchemaMismatchError,
    SerializationError,
    StoreDamagedError,
    VersionConflictError,
)
from memanto.ids import meta_point_id, slot_point_id
from memanto.models import Agent, Memory, MemoryType
from memanto.times import from_rfc3339, to_rfc3339

_ATTEMPTS = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """What a namespace says about itself.

    Attributes:
        agent: The agent it belongs to.
        hash_key: Secret that keys the digests of texts, so that a digest left by an erased text cannot be
            guessed from outside the store.
        space: The embedder whose vectors are searched, or `None` while the namespace is lexical only.
        former: Embedders whose vectors are kept, newest first; `reindex` can go back to them.
        schema: Version of the schema that wrote it.
        ageing: Which half-lives rank its memories: since when (RFC 3339), and seconds by type, oldest first; empty
            while nobody chose any. Earlier ones stay, so that an earlier answer keeps its ranking.
        contested: Whether a conflict was ever recorded, so that others need not look for one at each recall.
        token: Changes with every write of this point.
    """

    agent: Agent
    hash_key: str
    space: EmbedderIdentity | None = None
    former: tuple[EmbedderIdentity, ...] = ()
    schema: int = SCHEMA_VERSION
    ageing: tuple[tuple[str, Mapping[str, float]], ...] = ()
    contested: bool = False
    token: str | None = None

    def half_lives(self, as_of: datetime | None) -> dict[MemoryType, timedelta] | None:
        """Return the half-lives in force now, or at `as_of`; `None` while nobody had chosen any."""
        moment = None if as_of is None else to_rfc3339(as_of)
        chosen = [spans for since, spans in self.ageing if moment is None or since <= moment]
        return {MemoryType(kind): timedelta(seconds=span) for kind, span in chosen[-1].items()} if chosen else None


@functools.cache
def vector_name(identity: EmbedderIdentity) -> str:
    """Return the name under which vectors of this embedder are stored."""
    text = json.dumps(dataclasses.astuple(identity))
    return f"dense_{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


class Namespace:
    """One namespace of an engine. Cheap to make; reads its describing point when first needed."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name

    def create(self, agent: Agent) -> bool:
        """Create it; `False` when it exists (nothing is changed then)."""
        meta = Meta(agent=agent, hash_key=secrets.token_hex(16))
        return self.engine.create(self.name, _encode_meta(meta))

    def meta(self) -> Meta:
        """Read the describing point.

        Raises:
            NotFoundError: There is no such namespace.
            SchemaMismatchError: A newer schema wrote it.
        """
        point_id = meta_point_id(self.name)
        found = self.engine.get(self.name, [point_id])
        if point_id not in found:
            raise NotFoundError(
                f"no agent named {self.name!r}",
                hint="`memanto agent list` shows those there are, `agent create` makes one",
            )
        return decode_meta(self.name, found[point_id].payload)

    def described(self) -> Agent:
        """Return the agent; one that cannot be read says so, and does not keep the others from being listed."""
        try:
            return self.meta().agent
        except (StoreDamagedError, SerializationError, SchemaMismatchError) as error:
            return Agent(id=self.name, description=f"cannot be read ({error.code}); run `memanto doctor`")

    def update_meta(self, old: Meta, **changes: Any) -> Meta:
        """Write the describing point anew, if nobody else did since `old` was read.

        Raises:
            VersionConflictError: Somebody did.
        """
        new = dataclasses.replace(old, **changes)
        point = Point(meta_point_id(self.name), _encode_meta(new))
        if not self.engine.replace(self.name, point, old.token):
            raise VersionConflictError(f"the settings of agent {self.name!r} changed meanwhile", hint="try again")
        return self.meta()

    def contest(self) -> None:
        """Note that a conflict is recorded here; doing it again changes nothing.

        Raises:
            VersionConflictError: The describing point keeps changing.
        """
        for attempt in range(_ATTEMPTS):
            meta = self.meta()
            if meta.contested:
                return
            try:
                self.update_meta(meta, contested=True)
            except VersionConflictError:
                if attempt == _ATTEMPTS - 1:
                    raise

    # -- slots: which memory a key or a text belongs to ---------------------------------------------
    def slots(self, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
        """Return `(memory id, token)` for those of the `(kind, name)` slots that are taken."""
        ids = {slot_point_id(self.name, kind, name): (kind, name) for kind, name in names}
        found = self.engine.get(self.name, list(ids))
        return {ids[i]: (point.payload["owner"], point.payload["token"]) for i, point in found.items()}

    def claim(self, kind: str, name: str, memory_id: str, *, token: str | None = None) -> str:
        """Give a slot to a memory and return the memory that has it: this one, or whoever came first.

        Args:
            kind: `"key"` or `"hash"`.
            name: The key, or the digest of a text.
            memory_id: The memory to give it to.
            token: The slot's token as last read when it is to change hands; `None` to claim a free one.
        """
        point = Point(slot_point_id(self.name, kind, name), {"kind": "slot", "slot": kind, "owner": memory_id})
        for _ in range(_ATTEMPTS):
            if self.engine.replace(self.name, point, token):
                return memory_id
            taken = self.slots([(kind, name)]).get((kind, name))
            if taken is not None:
                return taken[0]
        raise VersionConflictError(f"slot {name!r} keeps changing hands", hint="try again")

    def digest(self, memory: Memory, text: str, meta: Meta) -> str:
        """Return the keyed digest by which a statement is recognised: its text, and its validity if it states one.

        Args:
            memory: Gives the validity.
            text: The whole text, also where the memory holds a part or a preview of it.
            meta: Holds the namespace's secret.
        """
        validity = (memory.valid_from, memory.valid_to)
        stated = "".join(f"\x00{to_rfc3339(time) if time else ''}" for time in validity) if any(validity) else ""
        key = bytes.fromhex(meta.hash_key)
        return hashlib.blake2b(f"{text}{stated}".encode(), key=key, digest_size=16).hexdigest()


def _encode_meta(meta: Meta) -> dict[str, Any]:
    agent = meta.agent
    payload: dict[str, Any] = {
        "kind": "meta",
        "agent": agent.id,
        "description": agent.description,
        "pattern": agent.pattern,
        "created_at": agent.created_at and to_rfc3339(agent.created_at),
        "hash_key": meta.hash_key,
        "space": meta.space and dataclasses.asdict(meta.space),
        "former": [dataclasses.asdict(identity) for identity in meta.former],
        "schema": meta.schema,
        "ageing": [[since, dict(spans)] for since, spans in meta.ageing],
        "contested": meta.contested,
    }
    return {name: value for name, value in payload.items() if value}


def decode_meta(namespace: str, payload: Mapping[str, Any]) -> Meta:
    """Return what the describing point of a namespace says.

    Raises:
        SchemaMismatchError: Another schema wrote it.
        SerializationError: It is no such point.
    """
    schema = payload.get("schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA_VERSION:
        raise SchemaMismatchError(
            f"agent {namespace!r} was written with schema {schema!r}; this version reads 1 to {SCHEMA_VERSION}",
            hint="use the memanto that wrote it: its `export` gives what this one can `import`",
        )
    try:
        created: datetime | None = from_rfc3339(payload["created_at"]) if "created_at" in payload else None
        return Meta(
            agent=Agent(
                id=payload["agent"],
                description=payload.get("description", ""),
                pattern=payload.get("pattern"),
                created_at=created,
            ),
            hash_key=bytes.fromhex(payload["hash_key"]).hex(),
            space=EmbedderIdentity(**payload["space"]) if "space" in payload else None,
            former=tuple(EmbedderIdentity(**identity) for identity in payload.get("former", ())),
            schema=schema,
            ageing=tuple((since, spans) for since, spans in payload.get("ageing", ())),
            contested=bool(payload.get("contested", False)),
            token=payload.get("token"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SerializationError(
            f"the description of agent {namespace!r} cannot be decoded ({type(error).__name__}: {error})",
            hint="`memanto export` saves its memories; import them into a new agent",
        ) from error
