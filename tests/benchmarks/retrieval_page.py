"""The page `docs/benchmarks/retrieval.md`."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.harness import Result, provenance, share, table

YARDSTICKS = {
    ("LoCoMo turns", "BM25"): 0.640,
    ("LoCoMo turns", "hybrid, no runs"): 0.695,
    ("LoCoMo turns", "hybrid"): 0.695,
    ("LongMemEval", "BM25"): 0.846,
    ("LongMemEval", "hybrid, no runs"): 0.914,
    ("LongMemEval", "hybrid"): 0.914,
}
"""recall@10 of the bare parts (qdrant-edge's BM25; bge-small int8; RRF with k = 2) on the same questions."""

_COLUMNS = ("recall@5", "recall@10", "any@5", "any@10", "mrr")

_INTRO = """\
# Retrieval

How well `recall` finds what answers a question, through the public API and with the offline model, beside simpler
ways of looking. No language model takes part, so nothing here judges answers.

recall@k is the share of the texts that answer a question among the first k results, any@k whether at least one is,
MRR the mean of 1 / rank of the first within ten. Tokens are what the first ten results hold, at four bytes each.
Latency is one `recall` with ten results; a model's time is what it took when it first saw the query or pair, under
whatever load there was then. *grep* counts how many of the question's words a text contains; *dense* is the order by
meaning alone, read off a hybrid search; *full context* hands over everything. *Hybrid* is `recall` as it comes, each
text stored with its session as the run that wrote it; *no runs* leaves that out, so that neighbours lend nothing.
"""

_NOTES = """\
LoCoMo's category 5 and other unanswerable questions are left out here; see [abstention](abstention.md). In LoCoMo
each conversation is a namespace of its own and a turn a memory, `Speaker: text`; sessions are ranked by their best
turn. LongMemEval is the evidence turns of all its questions in one namespace. In BEAM each chat's user turns are one.
The sets are half of the published ones, so figures are not comparable with those of whole sets.
"""


def page(result: Result) -> str:
    """Render the page."""
    parts = [_INTRO, _yardsticks(result)]
    for name, figures in result.figures.items():
        if name != "own corpus":
            parts += [f"## {name}\n", _arms(figures["arms"]), _kinds(figures), _pools(figures)]
    parts += [_NOTES, _own(result.figures["own corpus"]), provenance(result)]
    return "\n".join(part for part in parts if part)


def _yardsticks(result: Result) -> str:
    rows = []
    for (name, arm), bare in YARDSTICKS.items():
        measured = result.figures.get(name, {}).get("arms", {}).get(arm)
        if measured:
            value = measured["recall@10"]
            rows.append((f"{name}, {arm}", share(bare), share(value), f"{100 * (value - bare):+.1f}"))
    if not rows:
        return ""
    text = "## What the product costs in quality\n\nrecall@10 of the bare parts, and through the product.\n\n"
    return text + table(("set, arm", "bare parts", "product", "points"), rows) + "\n"


def _arms(arms: dict[str, Any]) -> str:
    rows = []
    for arm, found in arms.items():
        scores = [share(found[column]) if column in found else "" for column in _COLUMNS]
        timed = arm != "dense"  # its order is read off a hybrid search for 100 results
        speed = [f"{found[name]:.1f}" if timed and name in found else "" for name in ("p50_ms", "p95_ms")]
        rows.append((arm, found.get("n", ""), *scores, found.get("tokens", ""), *speed))
    header = ("arm", "n", *_COLUMNS[:-1], "MRR", "tokens", "p50 ms", "p95 ms")
    return table(header, [tuple(row) for row in rows]) + "\n"


def _kinds(figures: dict[str, Any]) -> str:
    kinds = figures.get("recall@10 by kind")
    if not kinds:
        return ""
    arms = [arm for arm in figures["arms"] if arm != "full context"]
    rows = [(kind, by_arm["n"], *(share(by_arm[arm]) for arm in arms)) for kind, by_arm in kinds.items()]
    return "recall@10 by kind of question:\n\n" + table(("kind", "n", *arms), rows) + "\n"


def _pools(figures: dict[str, Any]) -> str:
    pools = figures.get("by conversation")
    if not pools:
        return ""
    arms = [arm for arm in figures["arms"] if arm != "full context"]
    rows = [
        (name, found["hybrid"]["n"], *(share(found[arm]["recall@10"]) for arm in arms)) for name, found in pools.items()
    ]
    return "recall@10 by conversation:\n\n" + table(("conversation", "n", *arms), rows) + "\n"


def _own(figures: dict[str, Any]) -> str:
    rows = []
    for arm, kinds in figures["arms"].items():
        for kind, found in kinds.items():
            n = found["n"]
            rows.append(
                (
                    f"{arm}: {kind}",
                    n,
                    f"{found['first']}/{n}",
                    share(found["any@5"]),
                    share(found["mrr"]),
                    f"{found['right value']}/{n}",
                )
            )
    text = (
        "## The project's own corpus\n\nFour months of a team's log, 240 lines with corrections and reversals. *Right "
        "value*: the first right\nmemory says what was right at the time asked about, and no result of the first five "
        "shows a later value.\n\n"
    )
    return text + table(("arm: kind", "n", "first", "any@5", "MRR", "right value"), rows) + "\n"
