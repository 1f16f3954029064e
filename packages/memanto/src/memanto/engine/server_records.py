"""Records on a Qdrant server: one collection for all agents, each of them a tenant.

A server has no transactions, so what a record needs is written before it, and deleted after it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

from memanto.engine.record_codec import BODY, HEAD, LIGHT, head_text, to_record
from memanto.engine.record_reading import newest, with_belongings
from memanto.engine.records import Found, Record, RecordsInfo, Written, in_order, unreferenced
from memanto.engine.schema import RECORD_KEYWORDS, RECORD_TIME
from memanto.engine.server_client import Connection
from memanto.engine.server_collection import Collection
from memanto.engine.server_convert import NAMESPACE_FIELD, TOKEN_FIELD, batches, new_token, to_filter
from memanto.filters import NumberRange, Where
from memanto.ids import check_agent_id

if TYPE_CHECKING:
    from qdrant_client import models

_STORED: Final = "stored"
_PAGE: Final = 1_000
_GRACE: Final = 600.0
"""Seconds that a shared record stays although nothing needs it: whoever is about to name it has written it anew."""


class RecordCollection(Collection):
    """The collection of records: payloads only."""

    _schema_key: ClassVar = "memanto_records_schema"

    def upsert(self, structs: list[models.PointStruct]) -> None:
        """Write points in the place of what has their ids."""
        from qdrant_client import models

        strong = models.WriteOrdering.STRONG
        self._connection.run(lambda client: client.upsert(self._name, structs, wait=True, ordering=strong))

    def _settings(self) -> dict[str, Any]:
        return {}

    def _wanted_indexes(self) -> dict[str, models.KeywordIndexParams | models.DatetimeIndexParams]:
        from qdrant_client import models

        keyword, moment = models.KeywordIndexType.KEYWORD, models.DatetimeIndexType.DATETIME
        tenant = models.KeywordIndexParams(type=keyword, is_tenant=True)
        plain = {field: models.KeywordIndexParams(type=keyword) for field in RECORD_KEYWORDS}
        return {NAMESPACE_FIELD: tenant, **plain, RECORD_TIME: models.DatetimeIndexParams(type=moment)}

    def _faults(self, described: models.CollectionInfo) -> list[str]:
        from memanto.engine.schema import SCHEMA_VERSION

        schema = (described.config.metadata or {}).get(self._schema_key)
        if schema == SCHEMA_VERSION:
            return []
        return [f"collection {self._name!r} does not hold records of schema {SCHEMA_VERSION!r} (found {schema!r})"]


class ServerRecords:
    """`memanto.engine.records.Records` on a Qdrant server of version 1.19 or newer.

    Args:
        url: `http(s)://host[:port][/prefix]`, or `":memory:"` for a store inside this object, which is gone
            when it is closed: slow and meant for tests.
        api_key: Sent with each request, never shown.
        timeout: Seconds to wait for one answer.
        collection: Name of the collection that holds every namespace; made when the first record is stored.

    Raises:
        ConfigurationError: The URL or the timeout is malformed.
    """

    def __init__(self, url: str, *, api_key: str | None = None, timeout: float = 10.0, collection: str) -> None:
        self._connection = Connection(url, api_key=api_key, timeout=timeout)
        self._collection = RecordCollection(self._connection, collection)

    def open(self) -> None:
        """Connect and check the server; see `ServerEngine.open`."""
        self._connection.open()
        self._collection.exists()

    def close(self) -> None:
        self._connection.close()
        self._collection.forget()

    def namespaces(self) -> list[str]:
        return sorted(self._collection.facet(NAMESPACE_FIELD, None)) if self._collection.exists() else []

    def drop(self, namespace: str) -> None:
        if self._collection.exists():
            self._collection.delete(to_filter(check_agent_id(namespace), Where()))

    # -- writing ------------------------------------------------------------------------------------
    def write(
        self,
        namespace: str,
        put: Sequence[Record] = (),
        *,
        keep: Sequence[Record] = (),
        add: Sequence[Record] = (),
        needs: Sequence[str] = (),
        epoch: int | None = None,  # noqa: ARG002 - there is none here
    ) -> Written:
        check_agent_id(namespace)
        self._collection.ensure()
        present = {record.id for record in self._get(namespace, needs, light=True)} if needs else set()
        missing = [one for one in needs if one not in present]
        if missing:
            return Written(missing, ())
        # Shared records are written anew although they may be there: it keeps `reclaim` from taking them.
        self._upsert(namespace, keep)
        taken = self._add(namespace, add)
        self._upsert(namespace, put)
        return Written((), taken)

    def _upsert(self, namespace: str, records: Sequence[Record]) -> None:
        for batch in batches(_struct(namespace, record) for record in records):
            self._collection.upsert(batch)

    def _add(self, namespace: str, records: Sequence[Record]) -> list[str]:
        """Insert what is not there; returns the ids that were taken."""
        if not records:
            return []
        token = new_token()
        for batch in batches(_struct(namespace, record, {TOKEN_FIELD: token}) for record in records):
            self._collection.insert(batch)
        tokens = self._collection.tokens([UUID(record.id) for record in records])
        return [record.id for record in records if tokens.get(UUID(record.id)) != token]

    def delete(self, namespace: str, ids: Sequence[str], where: Where | None = None) -> None:
        if not self._collection.exists():
            return
        for chunk in _chunks(ids):
            self._collection.delete(to_filter(namespace, Where(), chunk))
        if where is not None:
            self._collection.delete(to_filter(namespace, where))

    def reclaim(self, namespace: str, scope: Where) -> int:
        if not self._collection.exists():
            return 0
        # What was written since the scope was read is left alone, also when it had been there before.
        limit = time.time() - _GRACE
        doomed = [record.id for record in unreferenced(self.find(namespace, scope))]
        for chunk in _chunks(doomed):
            self._collection.delete(to_filter(namespace, Where((NumberRange(_STORED, lte=limit),)), chunk))
        return len(doomed)

    # -- reading ------------------------------------------------------------------------------------
    def find(
        self,
        namespace: str,
        where: Where,
        *,
        newest_first: bool = False,
        limit: int | None = None,
        bodies: bool = False,
    ) -> list[Record]:
        if (limit is not None and limit < 1) or not self._collection.exists():
            return []
        if newest_first and limit is not None:
            return newest(lambda size: self._newest(namespace, where, size, bodies=bodies), limit)
        found = self._scan(namespace, where, None if newest_first else limit, bodies=bodies)
        return in_order(found) if newest_first else found

    def collect(self, namespace: str, which: Sequence[str] | Where, limit: int | None = None) -> Found:
        if not self._collection.exists():
            return Found((), (), ())
        if isinstance(which, Where):
            found = self.find(namespace, which, newest_first=True, limit=limit, bodies=True)
        else:
            found = self._get(namespace, which)
        return with_belongings(
            found, lambda where: self._scan(namespace, where, None), lambda ids: self._get(namespace, ids)
        )

    def _get(self, namespace: str, ids: Sequence[str], *, light: bool = False) -> list[Record]:
        """Return the records that exist, in the order of the ids."""
        found = {
            UUID(str(one.id)).hex: _record(one, body=not light)
            for one in self._collection.retrieve([UUID(one) for one in ids], fields=_fields(bodies=not light))
            if (one.payload or {}).get(NAMESPACE_FIELD) == namespace
        }
        return [found[one] for one in ids if one in found]

    def _scan(self, namespace: str, where: Where, limit: int | None, *, bodies: bool = True) -> list[Record]:
        condition = to_filter(namespace, where)
        found: list[Record] = []
        offset: models.ExtendedPointId | None = None
        while True:
            size = _PAGE if limit is None else min(_PAGE, limit - len(found))
            page, offset = self._collection.scroll(condition, size, offset=offset, fields=_fields(bodies=bodies))
            found += (_record(one, body=bodies) for one in page)
            if offset is None or (limit is not None and len(found) >= limit):
                return found

    def _newest(self, namespace: str, where: Where, size: int, *, bodies: bool) -> list[Record]:
        page, _ = self._collection.scroll(
            to_filter(namespace, where), size, order_by=(RECORD_TIME, True), fields=_fields(bodies=bodies)
        )
        return [_record(one, body=bodies) for one in page]

    def values(self, namespace: str, key: str) -> list[str]:
        if not self._collection.exists():
            return []
        return sorted(self._collection.facet(key, to_filter(namespace, Where())))

    # -- upkeep -------------------------------------------------------------------------------------
    def stamp(self, namespace: str) -> object:  # noqa: ARG002 - who knows what others write
        return None

    def epoch(self, namespace: str) -> int | None:  # noqa: ARG002
        return None

    def compact(self, namespace: str) -> None:
        """Do nothing: a server reclaims space by itself."""

    def flush(self, namespace: str) -> None:
        """Do nothing: what a server acknowledges is in its write-ahead log; when it syncs is its setting."""

    def info(self, namespace: str) -> RecordsInfo:
        number = self._collection.count(to_filter(namespace, Where())) if self._collection.exists() else 0
        return RecordsInfo(number, None, self._connection.location)


def _struct(namespace: str, record: Record, extra: dict[str, str] | None = None) -> models.PointStruct:
    from qdrant_client import models

    payload = {
        **record.keys,
        HEAD: head_text(record),
        BODY: record.body,
        _STORED: time.time(),
        NAMESPACE_FIELD: namespace,
        **(extra or {}),
    }
    return models.PointStruct(id=record.id, payload=payload, vector={})


def _record(found: models.Record, *, body: bool) -> Record:
    return to_record(UUID(str(found.id)).hex, found.payload or {}, body=body)


def _fields(*, bodies: bool) -> tuple[str, ...]:
    """Return the fields to read; the tenant's is among them, for points are also asked for by id."""
    return (*LIGHT, NAMESPACE_FIELD, BODY) if bodies else (*LIGHT, NAMESPACE_FIELD)


def _chunks(ids: Sequence[str]) -> Iterable[list[UUID]]:
    return ([UUID(one) for one in ids[start : start + _PAGE]] for start in range(0, len(ids), _PAGE))
