"""Two questions about the past: what was believed then, and what was true then."""

from datetime import UTC, datetime

from memanto import InMemory, Memanto
from memanto.testing import FixedClock


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


# A clock that can be set writes the past of this example; without `clock` it is the time of the machine.
clock = FixedClock(day(3, 1))
with Memanto("orders-bot", store=InMemory(), clock=clock) as memory:
    memory.remember("The orders service runs on Postgres 14", type="fact", key="database")

    clock.set(day(7, 1))  # the upgrade was in May, but it is recorded in July
    memory.remember("The orders service runs on Postgres 16", type="fact", key="database", valid_from=day(5, 10))

    def database(as_of: datetime | None = None, valid_at: datetime | None = None) -> str:
        [hit] = memory.recall("which database", limit=1, as_of=as_of, valid_at=valid_at)
        return hit.memory.content[-2:]

    print("now:                         Postgres", database())
    print("believed on 1 June:          Postgres", database(as_of=day(6, 1)))
    print("true on 1 June:              Postgres", database(valid_at=day(6, 1)))
    print("true on 1 April:             Postgres", database(valid_at=day(4, 1)))
    print("believed in June about June: Postgres", database(as_of=day(6, 1), valid_at=day(6, 1)))

    before = memory.recall("which database", as_of=day(6, 1))
    clock.set(day(8, 1))
    memory.remember("The orders service runs on Postgres 17", type="fact", key="database")
    after = memory.recall("which database", as_of=day(6, 1))
    assert after == before  # no later write changes the answer to an earlier as_of
    assert (database(), database(as_of=day(6, 1)), database(valid_at=day(6, 1))) == ("17", "14", "16")
