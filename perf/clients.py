"""What the client of a row costs: workflows that call a model server on loopback, which answers at once.

python -m perf.clients ready 3000 --where processes --url http://127.0.0.1:PORT/v1
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
from importlib.util import find_spec

from perf.evaluation import evaluated
from perf.machine import ROOT, line, peak_mib, peak_of_children, started

AT_ONCE = 16
ROUNDS = 3
SIZES = (1_000, 3_000, 10_000)
SECONDS = {"ready": 3.0, "own": 8.0}
"""Budgets for 1,000 rows."""
MEMORY_MIB = 150.0

_IMPORTS = """\
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowContext, AgentWorkflowOutput, Grader, get_rollout_context
"""
_GRADER = """

class Right(Grader):
    async def grade(self, ctx):
        ctx.set_reward(float(ctx.label in ctx.sample.messages[-1]["content"]))
"""


def _asking(client: str, imports: str = "", ask: str = "", said: str = "") -> str:
    """Return a rollout whose rows make a client and ask once."""
    ask = ask or 'await client.chat.completions.create(model="any", messages=ctx.prompt)'
    said = said or "reply.choices[0].message.model_dump(exclude_none=True)"
    return f"""{_IMPORTS}{imports}

class Solve(AgentWorkflow):
    async def run(self, ctx: AgentWorkflowContext) -> AgentWorkflowOutput:
        at = get_rollout_context()
        client = {client}
        reply = {ask}
        said = {said}
        return AgentWorkflowOutput(messages=[*ctx.prompt, said], metrics={{"characters": len(said["content"])}})
{_GRADER}"""


_AT = "base_url=at.chat_completions_url, api_key=at.api_key"
_MESSAGES: dict[str, str] = {
    "ask": 'await client.messages.create(model="any", max_tokens=9, messages=ctx.prompt)',
    "said": '{"role": "assistant", "content": reply.content[0].text}',
}
_ADAPTERS = "from mesocosm.rollouts.sdk.adapters"
_LITELLM = 'client(model="openai/any", messages=ctx.prompt, api_base=at.chat_completions_url, api_key=at.api_key)'
_AGENTS: dict[str, str] = {
    "imports": f"from agents import Runner\n{_ADAPTERS}.openai_agents import *\n",
    "ask": "await Runner.run(client, ctx.prompt[-1]['content'], session=OsmosisMemorySession())",
    "said": '{"role": "assistant", "content": reply.final_output}',
}
WORKFLOWS = {
    "own": ("openai", _asking(f"AsyncOpenAI({_AT})", "from openai import AsyncOpenAI\n")),
    "ready": ("openai", _asking("at.openai()")),
    "complete": (
        "openai",
        _asking("complete", "from mesocosm.rollouts import complete\n", "await client(ctx.prompt)", "reply"),
    ),
    "own anthropic": (
        "anthropic",
        _asking(
            "AsyncAnthropic(base_url=at.chat_completions_url.removesuffix('/v1'), api_key=at.api_key)",
            "from anthropic import AsyncAnthropic\n",
            **_MESSAGES,
        ),
    ),
    "ready anthropic": ("anthropic", _asking("at.anthropic()", **_MESSAGES)),
    "litellm": ("litellm", _asking("acompletion", "from litellm import acompletion\n", f"await {_LITELLM}")),
    "openai-agents": ("agents", _asking('OsmosisAgent(name="a", model=OsmosisRolloutModel())', **_AGENTS)),
    "strands": (
        "strands",
        _asking(
            "OsmosisStrandsAgent(model=OsmosisRolloutModel(), callback_handler=None)",
            f"{_ADAPTERS}.strands import *\n",
            "await client.invoke_async(ctx.prompt[-1]['content'])",
            '{"role": "assistant", "content": reply.message["content"][0]["text"]}',
        ),
    ),
    "langchain": (
        "langchain_openai",
        _asking(
            "chat_model()",
            f"{_ADAPTERS}.langgraph import *\n",
            "await client.ainvoke(ctx.prompt)",
            '{"role": "assistant", "content": reply.content}',
        ),
    ),
}
"""For each kind of client the package that it needs, and the entry file of a rollout that uses it."""


def clients() -> None:
    """Print seconds, processor time a row and peak memory for each kind of client; rounds alternate."""
    server = started(1, "mesocosm.testing.model_server", "--answer", "4")
    try:
        assert server.stdout is not None
        url = f"{server.stdout.readline().split()[-1]}/v1"
        for where in ("in-process", "process"):
            _compare(where, url)
            for kind in SECONDS:
                for rows in SIZES[1:]:
                    _show(kind, where, rows, [_measured(kind, rows, where, url)])
    finally:
        server.terminate()
        server.wait(10)


def _compare(where: str, url: str) -> None:
    kinds = [kind for kind, (package, _) in WORKFLOWS.items() if find_spec(package) is not None]
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind, figures in found.items():
            figures.append(_measured(kind, SIZES[0], where, url))
    for kind, figures in found.items():
        _show(kind, where, SIZES[0], figures)
    for kind in sorted(WORKFLOWS.keys() - set(kinds)):
        print(f"    {kind}: not measured, {WORKFLOWS[kind][0]} is not installed")


def _show(kind: str, where: str, rows: int, figures: list[dict[str, float]]) -> None:
    seconds = statistics.median(figure["seconds"] for figure in figures)
    cpu = statistics.median(figure["cpu"] for figure in figures)
    peak = max(figure["peak_mib"] for figure in figures)
    what = f"{rows:,} rows, {kind} client, {where}"
    if rows == SIZES[0] and kind in SECONDS:
        line(what, seconds, "s", SECONDS[kind], above=False)
    else:
        print(f"  {what:<58} {seconds:>10,.1f} s")
    line("  peak memory of the largest process", peak, "MiB", MEMORY_MIB, above=False)
    print(f"    processor time of a row, all processes but the model server: {cpu / rows * 1000:.2f} ms")


def _measured(kind: str, rows: int, where: str, url: str) -> dict[str, float]:
    command = [sys.executable, "-m", "perf.clients", kind, str(rows), "--where", where, "--url", url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def _evaluate(kind: str, rows: int, where: str, url: str, at_once: int = AT_ONCE) -> dict[str, float]:
    """Evaluate a rollout and return its seconds, processor seconds, and the peak memory of the largest process."""
    with peak_of_children() as children:
        seconds = evaluated(rows, where, WORKFLOWS[kind][1], f"openai/m@{url}", at_once)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "seconds": seconds,
        "cpu": sum(one.ru_utime + one.ru_stime for one in used),
        "peak_mib": max(peak_mib(), *children),
        "own_mib": peak_mib(),
        "worker_mib": children[0],
    }


def main() -> None:
    """Evaluate once and print one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=WORKFLOWS)
    parser.add_argument("rows", type=int)
    parser.add_argument("--where", choices=["in-process", "process"], default="process")
    parser.add_argument("--url", required=True)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    given = parser.parse_args()
    print(json.dumps(_evaluate(given.kind, given.rows, given.where, given.url, given.at_once)))


if __name__ == "__main__":
    main()
