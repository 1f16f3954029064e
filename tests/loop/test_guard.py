"""`guard` finds the failure that matches the action about to be taken, and does not cry wolf (our decisions)."""

from __future__ import annotations

import pytest
from tests.acceptance.course import BATON, FAILURE
from tests.loop.conftest import MakeMemory

from memanto import Memanto
from memanto.embedding.port import EmbedderIdentity
from memanto.errors import InvalidInputError
from memanto.loop.words import spellings, terms
from memanto.testing import FixedClock

TRIGGERS = {
    "seed": FAILURE,
    "billing": "When deploying the billing service, run the migrations first — root cause: columns not there yet",
    "stale": "When the ledger pull returns stale rows, wait five minutes and pull again — root cause: the replica lags",
    "push": "When git push is rejected as non-fast-forward, rebase on main instead of forcing",
    "csv": "When parsing the vendor CSV, read it as latin-1 — root cause: the export is not UTF-8",
    "token": "If the OAuth token expires mid-run then refresh it and retry once because it lives for 30 minutes",
    "npm": "When npm install fails with ERESOLVE, add --legacy-peer-deps — root cause: the peer range of react 17",
    "upload": "When the S3 upload times out on files over 100 MB, use multipart — root cause: the proxy's limit",
    "nginx": "When writing to /etc/nginx/nginx.conf, run nginx -t before reloading — root cause: a syntax error",
    "drop": "When dropping a table in production, take a snapshot first — root cause: no backups at night",
    "segments": "When calling update_reservation_flights, pass all segments — root cause: missing ones are cancelled",
    "umlaut": "Wenn der Export mit Umlauten fehlschlägt, die Kodierung auf UTF-8 setzen — Ursache: falsche Locale",
    "docker": "When the Docker build runs out of disk, prune the builder cache — root cause: old layers pile up",
    "japanese": "When 在庫同期 が失敗したら, 再起動する — root cause: 接続が切れる",
}

MATCHING = [
    ("seed", 'pytest tests/integration failed: ERROR relation "users" does not exist'),
    ("seed", "about to run the Postgres integration tests on CI"),
    ("billing", "deploy billing service v2 to production"),
    ("stale", "the ledger rows look stale after the pull"),
    ("push", "git push origin feature was rejected (non-fast-forward)"),
    ("csv", "load vendor CSV into pandas"),
    ("token", "OAuth token expired while syncing"),
    ("npm", "npm ERR! code ERESOLVE unable to resolve dependency tree"),
    ("upload", "upload a 300 MB file to S3"),
    ("nginx", "edit /etc/nginx/nginx.conf to add a server block"),
    ("drop", "DROP TABLE customers in production"),
    ("umlaut", "der Export mit Umlauten schlägt fehl"),
    ("docker", "docker build: no space left on disk"),
    ("japanese", "在庫同期を実行する"),
]

SILENT = [
    "write a README for the project", "git commit the formatted files", "run the unit tests of the parser",
    "create a new React component", "query the customers table for last month", "send the weekly report by mail",
    "read the nginx access log", "list S3 buckets", "update the changelog for release 2", "book a table for dinner",
    "deploy the documentation site", "refresh the dashboard", "install the linter", "add a column to the export",
    "open the production dashboard", "import users from a CSV", "restart the docker daemon",
    "fix the failing test in the billing module", "check whether the token budget is enough", "run the suite",
    "search flights", "delete the temporary file", "fetch the ledger totals", "what should I do now", "100 200 300",
]  # fmt: skip


@pytest.fixture
def known(memory: Memanto) -> Memanto:
    for text in TRIGGERS.values():
        memory.remember(text, type="error")
    return memory


class Untouched:
    """An embedder that must not be asked."""

    identity = EmbedderIdentity("test/untouched", 8)

    def embed_documents(self, texts: object) -> object:
        raise AssertionError("embedded")

    embed_query = embed_documents


def test_each_situation_finds_its_trigger_first(known: Memanto) -> None:
    found = {situation: known.guard(situation) for _, situation in MATCHING}
    missed = [s for name, s in MATCHING if not found[s] or found[s][0].memory.content != TRIGGERS[name]]
    assert missed == []


def test_other_situations_find_nothing(known: Memanto) -> None:
    loud = {situation: [one.when for one in known.guard(situation)] for situation in SILENT}
    assert {situation: found for situation, found in loud.items() if found} == {}


def test_it_is_as_precise_while_only_one_failure_is_known(memory: Memanto) -> None:
    memory.remember(TRIGGERS["billing"], type="error")
    assert memory.guard("deploy billing service v2")
    assert [situation for situation in SILENT if memory.guard(situation)] == []


def test_tool_and_arguments_count(known: Memanto) -> None:
    [found] = known.guard(tool="update_reservation_flights", args={"reservation_id": "ABC", "flights": []})
    assert found.memory.content == TRIGGERS["segments"]
    [by_value] = known.guard("apply", tool="write_file", args={"path": "/etc/nginx/nginx.conf"})
    assert by_value.do == "run nginx -t before reloading"
    assert known.guard("apply", tool="write_file", args={"path": "/etc/hosts"}) == []


def test_a_match_says_what_to_do_and_why_it_matched(known: Memanto) -> None:
    [found] = known.guard("deploy billing service v2 to production")
    assert found.do == "run the migrations first"
    assert found.cause == "columns not there yet"
    assert found.why_matched == "shares 'billing', 'deploy', 'service'"
    assert found.confirmed


def test_a_low_confidence_is_unconfirmed(memory: Memanto) -> None:
    failure = memory.record_failure("When deploying billing, run the migrations", confidence=0.49).id
    assert [one.confirmed for one in memory.guard("deploy billing")] == [False]
    memory.feedback(failure, "helped")
    assert [one.confirmed for one in memory.guard("deploy billing")] == [True]


@pytest.mark.parametrize("standing", ["quarantine", "expire", "forget"])
def test_what_is_not_believed_any_more_does_not_speak(memory: Memanto, standing: str) -> None:
    failure = memory.record_failure("When deploying billing, run the migrations").id
    getattr(memory, standing)(failure)
    assert memory.guard("deploy billing") == []


def test_no_model_is_asked_unless_wanted(make: MakeMemory) -> None:
    writer = make(embedder=None)
    writer.remember(FAILURE, type="error")
    cold = make(embedder=Untouched())
    assert cold.guard("about to run the Postgres integration tests")


def test_by_meaning_adds_what_words_do_not_find(memory: Memanto) -> None:
    memory.remember("When refactoring, ask first", type="error")  # one word is too little to match by words
    assert memory.guard("When refactoring, ask first") == []
    [found] = memory.guard("When refactoring, ask first", by_meaning=True)
    assert "means the same" in found.why_matched


def test_nothing_to_judge_is_refused(memory: Memanto) -> None:
    with pytest.raises(InvalidInputError, match="nothing to guard"):
        memory.guard("  ")
    with pytest.raises(InvalidInputError, match="limit 0"):
        memory.guard("x", limit=0)


# -- steps not to be redone -------------------------------------------------------------------------
def test_the_handoffs_finished_steps_are_held_against_an_action(memory: Memanto) -> None:
    memory.remember(BATON, type="context")
    [found] = memory.guard("convert the endpoint", tool="edit", args={"path": "/v1/users"})
    assert (found.kind, found.when) == ("do_not_redo", "/v1/users")
    assert [one.when for one in memory.guard("rewrite /v1/auth")] == ["/v1/auth (done, tested)"]
    assert memory.guard("convert /v1/orders") == []


def test_they_hold_on_after_the_baton_was_acknowledged(memory: Memanto) -> None:
    memory.write_handoff(do_not_redo="import the 2025 invoices")
    memory.take_handoff(by="a")
    memory.ack_handoff(by="a")
    assert [one.kind for one in memory.guard("import invoices of 2025")] == ["do_not_redo"]
    assert memory.guard("import invoices of 2026") == []


def test_an_unconfirmed_handoff_has_no_say(memory: Memanto) -> None:
    memory.remember("SESSION HANDOFF | Do NOT redo: run the security audit", type="context", provenance="inferred")
    assert memory.guard("run the security audit") == []


# -- runs that went well ----------------------------------------------------------------------------
def _airline(memory: Memanto) -> str:
    said = (
        "Customer anya_garcia_5901 wants to cancel 3RK2T9 because of the weather, asks about certificates, insists "
        "on a refund to the original card and mentions travel insurance"
    )
    return memory.record_failure(said, task_type="airline", fix="refuse: the fare allows no refund").id


def test_a_run_of_its_kind_that_went_well_and_fits_better_keeps_it_silent(memory: Memanto, clock: FixedClock) -> None:
    _airline(memory)
    request = "customer anya_garcia_5901 changes the passenger name of 3RK2T9"
    assert memory.guard(request)
    with memory.run("airline", goal="serve a customer") as run:
        run.end("customer anya_garcia_5901 had the passenger name of 3RK2T9 changed")
    assert memory.guard(request) == []
    assert memory.guard("customer anya_garcia_5901 cancels 3RK2T9 because of the weather and asks about certificates")


def test_a_run_of_another_kind_or_that_failed_does_not_silence_it(memory: Memanto) -> None:
    _airline(memory)
    request = "customer anya_garcia_5901 changes the passenger name of 3RK2T9"
    for kind, success in (("billing", True), ("airline", False)):
        with memory.run(kind) as run:
            run.end("customer anya_garcia_5901 had the passenger name of 3RK2T9 changed", success=success)
    assert memory.guard(request)


def test_what_failed_in_a_run_that_went_well_in_the_end_does_not_silence_it(memory: Memanto) -> None:
    memory.record_failure(task_type="support", attempted="lookup_order B-44", wrong="the order service timed out")
    assert memory.guard("lookup_order B-44")
    with memory.run("support") as run:
        run.step("look the order up", failure="lookup_order B-44: the order service timed out")
        run.end("the customer got an answer from the archive")
    assert memory.guard("lookup_order B-44")


def test_a_run_that_the_record_itself_helped_does_not_silence_it(memory: Memanto) -> None:
    failure = _airline(memory)
    request = "customer anya_garcia_5901 changes the passenger name of 3RK2T9"
    with memory.run("airline") as run:
        run.guard(request)
        run.used(failure)
        run.step("customer anya_garcia_5901 had the passenger name of 3RK2T9 changed")
        run.end("customer anya_garcia_5901 had the passenger name of 3RK2T9 changed")
    assert memory.guard(request)


# -- words ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the flights were cancelled", {"flight", "cancel"}),
        ("mia_li_3668", {"mia_li_3668"}),
        ("update_flights", {"update_flights", "updat", "flight"}),
        ("/v1/users", {"v1/users", "user"}),
        ("Größe naïve", {"gross", "naiv"}),
        ("在庫同期", {"在庫", "庫同", "同期"}),
        ("and the of to", set()),
    ],
)
def test_texts_become_terms(text: str, expected: set[str]) -> None:
    assert {term for term in terms(text) if term.isascii() or len(term) == 2} == expected


def test_a_term_remembers_how_it_was_written() -> None:
    assert spellings("Parsing parsed")["pars"] == "parsing"
