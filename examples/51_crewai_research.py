"""CrewAI: a crew scours a small site, keeps a finding per source, and the next crew does not scour it again.

Memory holds `context` (the working thesis), `learning` (a finding per source, its URL in `source_ref`; never the page)
and `observation` (dead ends). Sources that are open stay in the window. A script stands for your model.
"""

import json
import os
import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

HOME = tempfile.TemporaryDirectory()
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "ORT_DISABLE_TELEMETRY": "1"}
os.environ["CREWAI_STORAGE_DIR"] = tempfile.tempdir = HOME.name

from crewai import Agent, Crew, Task  # noqa: E402
from crewai.llms.base_llm import BaseLLM  # noqa: E402
from crewai.tools import tool  # noqa: E402

from crewai_memanto import MemantoMemory, memory_tools  # noqa: E402
from memanto import InMemory, Memanto  # noqa: E402

PAGES = {
    "pool.html": "<p>The queue stalls when the Redis pool has fewer than 20 connections.</p>" + "<br>" * 500,
    "retry.html": "<p>Retries without jitter arrive together and stall the queue again.</p>",
    "about.html": "<h1>About us</h1>",
}
THESIS = "Thesis: the queue stalls for want of Redis connections, and retries without jitter keep it down"
VISITS = []


@tool
def fetch(url: str) -> str:
    """Read a page of the site."""
    VISITS.append(url.rpartition("/")[2])
    return urlopen(url, timeout=10).read().decode()  # noqa: S310 - this machine's own


class Model(BaseLLM):
    def get_input_tokens_count(self, messages: list[dict], *_: object, **__: object) -> int:
        return len(str(messages)) // 4

    def call(self, messages: list[dict], *_: object, **__: object) -> str:
        return work(self.base_url, "\n".join(str(message["content"]) for message in messages))


def work(site: str, window: str) -> str:
    """Choose the next step from what the window shows, as a model does."""
    if THESIS in window:
        return f"Thought: I know enough.\nFinal Answer: {THESIS}"
    for name, page in PAGES.items():
        url, kind, finding = site + name, "observation", f"{name} says nothing about queues: a dead end"
        if url not in window:
            return act("fetch", url=url)
        if "<p>" in page:
            kind, finding = "learning", page[3 : page.index("</p>")]
        if f'"{finding}"' not in window:
            return act("remember", content=finding, type=kind, provenance="observed", source_ref=url)
    return act("remember", content=THESIS, type="context", provenance="inferred")


def act(name: str, **arguments: object) -> str:
    return f"Thought: next.\nAction: {name}\nAction Input: {json.dumps(arguments)}"


def research(memory: Memanto, site: str) -> str:
    tools = [fetch, *memory_tools(memory, ["remember"])]
    scout = Agent(
        role="Scout", goal="Find causes", backstory="Careful", llm=Model(model="script", base_url=site), tools=tools
    )
    task = Task(description="Why does the queue stall?", expected_output="A thesis", agent=scout)
    return Crew(agents=[scout], tasks=[task], memory=MemantoMemory(memory, max_findings=0)).kickoff().raw


with HOME, Memanto("research", store=InMemory()) as memory:
    for name, page in PAGES.items():
        (Path(HOME.name) / name).write_text(page, encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=HOME.name))
    Thread(target=server.serve_forever, daemon=True).start()
    site = f"http://127.0.0.1:{server.server_port}/"
    first, second = research(memory, site), research(memory, site)
    server.shutdown()
    server.server_close()
    print(f"pages read: {VISITS}; {second}")
    for found in memory.recall(types=["learning", "observation"]):
        print(f"{found.memory.type}: {found.memory.content} ({found.memory.source_ref})")
    assert list(PAGES) == VISITS, "the second crew reads none again"
    assert first == second == THESIS
    assert set(memory.status().by_type) == {"context", "learning", "observation"}
