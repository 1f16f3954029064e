"""Answer from memory: part by part, every claim cited, nothing made up, with and without a language model."""

from memanto import InMemory, Memanto

QUESTION = "What is the current goal, what did the last reconciliation run conclude, and who won the cup?"


def careless_model(prompt: str) -> str:
    """Stand in for a language model: one claim that holds, one that does not, one citation of nothing."""
    assert "who won the cup" not in prompt  # retrieval found nothing on it, so no model is asked
    return "The goal is to reconcile the ledger every night [1]. It costs 900 EUR [1]. Everybody is happy [8]."


with Memanto("ledger-bot", store=InMemory()) as memory:
    memory.remember("Goal: reconcile the ledger every night", type="goal")
    memory.remember("Reconciliation run of Tuesday concluded: 0 deltas after the re-pull", type="event")

    answer = memory.answer(QUESTION)
    print(answer.text)
    for cited in answer.citations:
        print(f"  [{cited.number}] {cited.id}  {cited.date:%Y-%m-%d}  confidence {cited.confidence}")
    assert [cited.type for cited in answer.citations] == ["goal", "event"]
    assert answer.missing == ("who won the cup?",)

    written = memory.answer(QUESTION, llm=careless_model)
    print("\nby", written.how)
    print(written.text)
    print(*written.notes, sep="\n")
    assert written.text.splitlines()[0] == "The goal is to reconcile the ledger every night. [1]"
