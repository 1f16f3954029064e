"""The commands of the course on agent memory, as argument lists; the sentences in them are ours where it has none.

`STEPS` run in this order on one store; `UPKEEP` afterwards.
"""

from __future__ import annotations

from typing import Final

GOAL = "Goal: reconcile the ledger every night and flag every difference over $0.01"
LAG = "Ledger pulls lag the source by about 5 minutes"
SCHEMA = "Main API schema lives at services/api/schema.graphql"
REPULL = "Chose to re-pull the ledger instead of patching deltas — root pull was stale, not the diff logic"
LEARNING = "Account set X reconciles cleanly once the 5-min lag is respected"
TEMPLATE = "<distilled finding "
OLD_BATON = "SESSION HANDOFF | Goal: migrate REST->GraphQL | Done: 30% of endpoints | Next: convert /v1/auth"
BATON = (
    "SESSION HANDOFF | Goal: migrate REST->GraphQL | Done: 60% of endpoints | Next: convert /v1/orders | "
    "Do NOT redo: /v1/users, /v1/auth (done, tested)"
)
FAILURE = (
    "When Postgres integration tests fail with 'relation does not exist', run pnpm db:seed before the suite — "
    "root cause: the tests assume a migrated schema and CI starts from an empty DB."
)

STEPS: Final[dict[str, list[str]]] = {
    "create": ["agent", "create", "nightly-reconciler"],
    "create again": ["agent", "create", "nightly-reconciler"],
    "goal": ["remember", GOAL, "--type", "goal"],
    "fact": ["remember", LAG, "--type", "fact", "--confidence", "0.9"],
    "artifact": ["remember", SCHEMA, "--type", "artifact"],
    "decision": ["remember", REPULL, "--type", "decision", "--confidence", "0.9"],
    "learning": ["remember", LEARNING, "--type", "learning"],
    "template": ["remember", TEMPLATE, "--type", "learning"],
    "old baton": ["remember", OLD_BATON, "--type", "context", "--source", "claude", "code"],
    "baton": ["remember", BATON, "--type", "context", "--source", "claude", "code"],
    "failure": [
        "remember", FAILURE, "--type", "error", "--confidence", "0.95", "--source", "claude", "code",
        "--provenance", "explicit", "statement",
    ],
    "find artifact": ["recall", "where is the API schema", "--type", "artifact"],
    "find decision": ["recall", "what did we decide about stale ledger pulls", "--type", "decision"],
    "find baton": ["recall", "latest session handoff", "--type", "context"],
    "recent": ["recall", "--recent"],
    "prior runs": ["recall", "prior runs of the nightly reconciliation: what worked, what failed", "--type", "event"],
    "known failures": ["recall", "known failures for reconciliation", "--type", "error"],
    "young store": ["recall", "what database did we use", "--as-of", "2026-06-01"],
    "checklist agent": ["agent", "create", "my-loop"],
    "checklist goal": ["remember", "<the goal ", "--type", "goal"],
    "checklist fact": ["remember", "<a durable environment fact ", "--type", "fact", "--confidence", "0.9"],
    "checklist decision": ["remember", "<decision + reason ", "--type", "decision"],
    "checklist failure": [
        "remember", "When <situation , do <fix instead — root cause: <why ", "--type", "error", "--confidence", "0.95",
    ],
    "checklist recent": ["recall", "--recent"],
    "connect": ["connect"],
}  # fmt: skip

PLANNING = (
    "Based on memory, what is the fastest known path to reconcile the ledger, "
    "and what mistakes should I avoid this run?"
)
CHECK = (
    "Using only stored memory, what is the current goal, what did the last reconciliation run conclude, "
    "and what is one recorded failure and its fix?"
)
CHECKLIST = "Based on memory, what worked before and what should I avoid this run?"

ANSWERS: Final[dict[str, list[str]]] = {
    "answer before planning": ["answer", PLANNING],
    "answer as a memory check": ["answer", CHECK],
    "answer of the checklist": ["answer", CHECKLIST],
}

UPKEEP: Final[dict[str, list[list[str]]]] = {
    "daily summary": [["daily-summary"]],
    "conflicts": [["conflicts"]],
    "daily summary, then conflicts": [["daily-summary"], ["conflicts"]],
    "schedule": [["schedule", "enable"]],
}
