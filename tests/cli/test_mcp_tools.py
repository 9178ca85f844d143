"""`--mcp` of `eval ask`, `run WHAT` and `bench run`: tools of servers in recorded runs."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.mcp.double import command, url_server

import mesocosm as mc
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

ASK = ("eval", "ask", "q.csv", "--prompt", "{{question}}", "--grader", "numeric", "--quiet")
Ask = Callable[..., "Outcome"]


@pytest.fixture
def ask(mesocosm: "Invoke", here: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return what runs a command line in a directory with rows."""
    (here / "q.csv").write_text("question,answer\n1 + 1?,2\n2 + 3?,5\n")
    monkeypatch.delenv("MESOCOSM_MODEL", raising=False)
    monkeypatch.setenv("TOOL_TOKEN", "zebra-banana-quark")
    return mesocosm


def adding(tool: str = "add") -> Callable[[dict[str, Any]], str | ScriptedAnswer]:
    """Return a model that calls `tool` with the numbers of the question, and repeats what it gives."""

    def answer(body: dict[str, Any]) -> str | ScriptedAnswer:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return f"It is {last['content']}."
        if tool not in [one["function"]["name"] for one in body.get("tools", ())]:
            return "There is no such tool."
        numbers = [int(one) for one in re.findall(r"\d+", last["content"])[:2]]
        return ScriptedAnswer("", tool_calls=((tool, dict(zip("ab", numbers, strict=False))),))

    return answer


def model(server: ModelServer) -> tuple[str, str]:
    return "-m", f"openai/adder@{server.openai_url}"


def stored(folder: Path) -> bytes:
    """Return everything that a command has written."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_rows_are_answered_with_tools_and_the_trace_has_every_call(ask: Ask) -> None:
    async with ModelServer(adding()) as server:
        done = await asyncio.to_thread(ask, *ASK, *model(server), "--mcp", command(), "--json")
        again = await asyncio.to_thread(ask, *ASK, *model(server), "--mcp", command(), "--json")

    assert done.code == 0, done.err
    assert done.document["run"]["metrics"][0]["value"] == 1.0
    assert again.document["run"]["id"] == done.document["run"]["id"]
    assert server.served == 4
    (first, _) = mc.get_run(done.document["run"]["id"]).episodes()
    (call,) = [event.payload for event in first.events if event.kind == "tool_call"]
    assert (call["name"], call["arguments"], call["result"]) == ("add", {"a": 1, "b": 1}, "2")


async def test_the_same_call_in_python_finds_the_same_run(ask: Ask) -> None:
    async with ModelServer(adding()) as server:
        words = (*ASK, *model(server), "--mcp", command(), "--mcp-env", "TOOL_TOKEN", "--mcp-rounds", "4", "--json")
        done = await asyncio.to_thread(ask, *words)
        line = done.document["python"]
        call = line.replace("mc.evaluate(", "mc.evaluate(progress=False, what=")
        found = await asyncio.to_thread(eval, call, {"mc": mc})
    assert found.id == done.document["run"]["id"]


async def test_other_tools_are_another_experiment_and_no_tools_too(ask: Ask) -> None:
    async with ModelServer(adding()) as server:
        lines = ((), ("--mcp", command()), ("--mcp", command("pages")), ("--mcp", command(), "--mcp-rounds", "7"))
        done = [await asyncio.to_thread(ask, *ASK, *model(server), *line, "--json") for line in lines]
    assert len({one.document["run"]["id"] for one in done}) == 4


async def test_changed_tools_are_noticed_when_a_run_is_continued(ask: Ask) -> None:
    async with ModelServer(adding()) as server:
        first, second = [
            await asyncio.to_thread(ask, *ASK, *model(server), "--mcp", command("changed"), "--json") for _ in range(2)
        ]
    assert [one.code for one in (first, second)] == [4, 4]
    assert first.document["run"]["id"] != second.document["run"]["id"]
    assert "offers other tools than when the run began (changed: add)" in first.document["run"]["error"]


async def test_no_value_of_a_variable_is_stored_or_printed(ask: Ask, here: Path) -> None:
    async with ModelServer(adding("tell")) as server:
        words = (*ASK, *model(server), "--mcp", command(), "--mcp-env", "TOOL_TOKEN")
        done = await asyncio.to_thread(ask, *words)
    assert b"zebra-banana" not in stored(here)
    assert "zebra-banana" not in done.out + done.err
    episode = next(iter(mc.get_run("last").episodes()))
    assert "[redacted]" in json.dumps([event.payload for event in episode.events])


async def test_a_header_from_a_variable_reaches_the_server_and_nothing_else(ask: Ask, here: Path) -> None:
    async with ModelServer(adding("twice")) as server, url_server(key="zebra-banana-quark") as tools:
        words = (*ASK, *model(server), "--mcp", tools.url, "--mcp-header", "Authorization=Bearer $TOOL_TOKEN")
        done = await asyncio.to_thread(ask, *words)
    assert done.code == 0, done.err
    assert len(tools.calls) == 2
    assert b"zebra-banana" not in stored(here)
    assert "$TOOL_TOKEN" in done.out


async def test_a_server_that_dies_leaves_a_missing_value_and_not_a_wrong_answer(ask: Ask) -> None:
    async with ModelServer(adding("die")) as server:
        done = await asyncio.to_thread(ask, *ASK, *model(server), "--mcp", command())
    assert "0/2 (2 environment_error)" in done.out
    assert "ended with exit code 3: out of memory" in done.out


async def test_an_environment_is_played_with_tools_beside_its_actions(ask: Ask, here: Path) -> None:
    (here / "env.py").write_text(ENVIRONMENT)

    def answer(body: dict[str, Any]) -> str | ScriptedAnswer:
        told = [one["content"] for one in body["messages"] if one["role"] == "tool"]
        return str(told[-1]) if told else ScriptedAnswer("", tool_calls=(("add", {"a": 2, "b": 3}),))

    async with ModelServer(answer) as server:
        words = ("run", "env.py:Sum", *model(server), "-n", "2", "--mcp", command(), "--quiet", "--json")
        done = await asyncio.to_thread(ask, *words)
    assert done.code == 0, done.err
    assert done.document["run"]["metrics"][0]["value"] == 1.0


ENVIRONMENT = """
from mesocosm.environments import BaseEnv, StepResult


class Sum(BaseEnv):
    action_space = {"type": "text"}

    def reset(self, seed=None, **params):
        return "2 + 3?"

    def step(self, action):
        return StepResult("", float(action == "5"), terminated=True)
"""


async def test_a_benchmark_is_played_with_tools(launch: Callable[..., Any], here: Path) -> None:
    async with ModelServer(adding()) as server:
        words = ("bench", "run", "context-bench", *model(server), "-n", "1", "--mcp", command(), "--quiet", "--json")
        done = await (await launch(*words, cwd=here)).end()
    assert done.code == 0, done.err
    (episode,) = mc.get_run("last").episodes()
    (call,) = [event.payload for event in episode.events if event.kind == "tool_call"]
    assert call["name"] == "add"


async def test_a_configuration_keeps_the_servers(ask: Ask, here: Path) -> None:
    async with ModelServer(adding()) as server:
        words = (*ASK, *model(server), "--mcp", command(), "--mcp-rounds", "4", "--json")
        done = await asyncio.to_thread(ask, *words, "--save", "q.toml")
        again = await asyncio.to_thread(ask, "eval", "run", "q.toml", "--quiet", "--json")
    assert "mcp_rounds = 4" in (here / "q.toml").read_text()
    assert again.document["run"]["id"] == done.document["run"]["id"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mcp", "stdio:/nowhere/server"), "cannot be started: /nowhere/server: No such file or directory"),
        (("--mcp", command("none")), "offers no tools; leave it out"),
        (("--mcp", "http://127.0.0.1:9/mcp"), "cannot be reached"),
        (("--mcp-rounds", "3"), "--mcp-rounds is for an MCP server, and no --mcp names one"),
        (("--mcp", command(), "--agent", "agent.py:solve"), "an agent that is a function calls its own"),
    ],
)
def test_what_cannot_work_is_said_before_a_model_is_asked(
    ask: Ask, here: Path, words: tuple[str, ...], said: str
) -> None:
    (here / "agent.py").write_text("def solve(question): return '1'\n")
    done = ask(*ASK, "-m", "openai/x@http://127.0.0.1:9/v1", *words)
    assert done.code == 2
    assert said in done.err
    assert not (here / "benchmark_results" / "orchestrator.sqlite").exists()
