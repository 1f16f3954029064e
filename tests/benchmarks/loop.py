"""The two proofs of the loop: it survives its windows, and it compounds. One suite, one page."""

from __future__ import annotations

from tests.benchmarks import compounding_arms, survival
from tests.benchmarks.harness import Bench, Figures, Result, Suite, provenance, register


def measure(bench: Bench) -> Figures:
    """Run both."""
    return {"survival": survival.measure(bench), "compounding": compounding_arms.measure(bench)}


def page(result: Result) -> str:
    """Render the page."""
    return "\n".join(
        [
            "# The loop: survival and compounding",
            "",
            "Two questions with scripted agents, so that every figure can be repeated: does a loop with memory outlive",
            "its context windows, and does the next run profit from the last?",
            "",
            "## Survival",
            "",
            survival.section(result.figures["survival"]),
            "## Compounding",
            "",
            compounding_arms.section(result.figures["compounding"]),
            provenance(result),
        ]
    )


def plots(result: Result) -> dict[str, str]:
    """Draw the pictures of both."""
    return survival.plots(result.figures["survival"]) | compounding_arms.plots(result.figures["compounding"])


register(
    Suite(
        name="loop",
        about="A loop that outlives its windows, and runs that profit from earlier ones",
        run=measure,
        page=page,
        plots=plots,
    )
)
