"""The main job on real input: an engineering log of four months, 40 questions, answers with their ids.

Runs in a throw-away store. Exits with 1 when an expected answer is missing.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memanto import Embedded, Memanto
from memanto.corpus import QuestionKind
from memanto.corpus.replay import Asked, ask, replay
from memanto.testing import FixedClock

# Paraphrases that share no rare word with their answer and that the default model ranks sixth: known misses,
# kept as headroom. Everything else must be among the first five.
KNOWN_MISSES = frozenset({"q13", "q24", "q26"})


def main() -> int:
    clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
    with TemporaryDirectory() as folder, Memanto("demo", store=Embedded(Path(folder)), clock=clock) as memory:
        print("Remembering an engineering log of four months …", file=sys.stderr)
        ids = replay(memory, clock)
        clock.set(datetime(2026, 9, 1, tzinfo=UTC))
        status = memory.status()
        print(
            f"{status.memories} memories in {status.versions} versions, "
            f"searched by words and {status.embedder or 'nothing else'}\n"
        )
        asked = ask(memory, ids)
    for one in asked:
        show(one)
    answerable = [one for one in asked if one.question.kind is not QuestionKind.NONE]
    missing = [one.question.id for one in answerable if not one.right_value]
    print(
        f"{len(answerable) - len(missing)} of {len(answerable)} answerable questions answered "
        "within the first five memories"
    )
    unexpected = sorted(set(missing) - KNOWN_MISSES)
    if unexpected:
        print(f"missing: {', '.join(unexpected)}", file=sys.stderr)
        return 1
    if missing:
        print(f"known misses, ranked sixth by the default model: {', '.join(missing)}")
    return 0


def show(one: Asked) -> None:
    """Print a question and the memory that answers it, or the best one when nothing does."""
    question = one.question
    when = (
        f" [as of {question.as_of}]"
        if question.as_of
        else f" [valid at {question.valid_at}]"
        if question.valid_at
        else ""
    )
    print(f"{question.id}  {question.question}{when}")
    if question.kind is QuestionKind.NONE:
        best = f"; the nearest is {one.hits[0].memory.id}" if one.hits else ""
        print(f"      the log holds no answer to this{best}\n")
        return
    if one.rank is None:
        print("      MISSED\n")
        return
    memory = one.hits[one.rank - 1].memory
    text = memory.content if len(memory.content) <= 110 else f"{memory.content[:109]}…"
    print(f"   #{one.rank} {memory.id}  {memory.type}, {memory.recorded_at:%Y-%m-%d}, confidence {memory.confidence}")
    print(f"      {text}\n")


if __name__ == "__main__":
    sys.exit(main())
