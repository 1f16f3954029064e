"""Truth over time: the right value at the right moment, and no stale one beside it."""

from __future__ import annotations

from typing import Any

from tests.benchmarks import datasets, timelines, truth_timeqa, truth_updates
from tests.benchmarks.harness import Bench, Figures, Result, Suite, provenance, register, table
from tests.benchmarks.models import offline_models

QUICK_TIMELINES = 15


def measure(bench: Bench) -> Figures:
    """Write what the sets say happened, and ask what was true and what was known."""
    embedder, reranker = offline_models(bench.cache)
    figures: Figures = {}
    if bench.available("TimeQA", timelines.VALUES) and bench.available("TimeQA", timelines.RELATIONS):
        loaded = timelines.load(bench)
        if bench.quick:
            bench.skip(f"{len(loaded) - QUICK_TIMELINES} timelines, and vectors for the rest", "quick run")
        chosen, model = (loaded[:QUICK_TIMELINES], None) if bench.quick else (loaded, embedder)
        figures["TimeQA"] = truth_timeqa.measure(chosen, model, bench.seed)
        bench.say("TimeQA done")
    if bench.available("LongMemEval updates", datasets.LONGMEMEVAL):
        figures["LongMemEval updates"] = truth_updates.measure_updates(truth_updates.load_updates(bench), embedder)
        bench.say("LongMemEval updates done")
    if bench.available("stale facts", truth_updates.STALE):
        sets = bench.load(truth_updates.STALE)
        if bench.quick:
            bench.skip("stale facts: cross-encoder, all scenarios but one", "quick run")
            sets = sets | {"long_horizon": sets["long_horizon"][:1]}
        judge = None if bench.quick else reranker
        figures["stale facts"] = truth_updates.measure_stale(sets, embedder, judge)
        bench.say("stale facts done")
    return figures


_INTRO = """\
# Truth over time

Whether a memory answers with what was true, or known, at the time asked about, and keeps what no longer holds out of
the answer. All through the public API.
"""

_TIMEQA = """\
## Dated values (TimeQA)

{timelines} timelines with {values} dated values are written in shuffled order, in three helpings. Each timeline is then
asked (by its tag, without ranking) what was true at the middle of every interval and gap, at each boundary and the day
before it: right means exactly the values that held then, none in a gap. The same with `as_of` at the two moments
between the helpings, where only what had been written counts. *By query* asks for the subject and relation among all
timelines with `valid_at` alone: right means that the first ten hold the right value and none of the timeline's others.

*One slot a timeline* gives each timeline a key, so that values overlap no more: the one that began last holds.
*Dated text* tells the span in words; in *bare text* a value that comes back later is the same text again
({repeats} values do).
"""

_STALE = """\
## Stale facts (long horizon)

144 writes change 8 settings over 48 sessions, three times over; 120 probes ask for a current value. *First*: the
current value is the first result; *stale*: an outdated one is among the first five; *strict*: current shown and no
stale one. *Stripped* leaves out the line that names key and value and the words "This supersedes prior values.",
which real texts do not have. The rows of the hosted product of the same name and of mem0 are as published with the
set.
"""


def page(result: Result) -> str:
    """Render the page `docs/benchmarks/truth.md`."""
    figures = result.figures
    parts = [_INTRO]
    if "TimeQA" in figures:
        parts += [_timeqa(figures["TimeQA"])]
    if "LongMemEval updates" in figures:
        parts += [_updates(figures["LongMemEval updates"])]
    if "stale facts" in figures:
        parts += [_stale(figures["stale facts"])]
    return "\n".join([*parts, provenance(result)])


def _timeqa(figures: dict[str, Any]) -> str:
    ways = figures["by way of writing"]
    names = [name for name in next(iter(ways.values())) if name != "duplicates reported"]
    rows = [(way, *(_of(found[name]) for name in names), found["duplicates reported"]) for way, found in ways.items()]
    text = _TIMEQA.format(
        timelines=figures["timelines"],
        values=figures["values"],
        repeats=figures["values that come back unchanged"],
    )
    return f"{text}\n{table(('written as', *names, 'taken for duplicates'), rows)}\n"


def _of(count: dict[str, Any]) -> str:
    return f"{count['right']}/{count['asked']}"


def _updates(figures: dict[str, Any]) -> str:
    n, keyed, plain = figures["pairs"], figures["with a key"], figures["without a key"]
    rows = [(f"{name} (by key)", f"{right}/{n}") for name, right in keyed["right"].items()]
    rows += [(f"{name} (by the question)", f"{count}/{n}") for name, count in keyed["of which by query"].items()]
    rows += [(f"without a key: {name}", f"{count}/{n}") for name, count in plain.items()]
    text = (
        f"## Updates in conversations (LongMemEval)\n\n{n} questions have an older and a newer statement. Both are"
        " written at their dates, once under one key\nand once without any.\n\n"
    )
    return text + table(("asked", "right"), rows) + "\n"


def _stale(figures: dict[str, Any]) -> str:
    shares = ("top1", "recall@5", "stale shown", "strict")
    rows = [
        (f"{way}, {arm}", *(f"{100 * found[name]:.1f}" for name in shares), f"{found['mrr']:.3f}")
        for way, arms in figures["by way of writing"].items()
        for arm, found in arms.items()
    ]
    for name, label in (("memanto", "hosted memanto, as published"), ("mem0_infer_false", "mem0, infer=False")):
        found = figures["published"].get(name)
        if found:
            shown = [found[key] for key in ("top1", "current_recall", "stale_conflict_rate", "strict_accuracy")]
            rows.append((f"{label}: published", *(f"{100 * value:.1f}" for value in shown), f"{found['mrr']:.3f}"))
    return f"{_STALE}\n{table(('written and ranked', 'first %', 'recall@5 %', 'stale %', 'strict %', 'MRR'), rows)}\n"


register(Suite(name="truth", about="the right value at the right moment, and no stale one", run=measure, page=page))
