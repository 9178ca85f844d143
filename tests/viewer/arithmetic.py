"""Record runs of a rollout for the tests of the viewer: sums to solve, with samples of every kind.

python arithmetic.py RESULTS
"""

import asyncio
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.registry import MODELS, SOURCES
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, Selection
from mesocosm.core.usage import Usage
from mesocosm.engine import session
from mesocosm.rollouts.benchmark import GradingTerms, RolloutBenchmark, RolloutSource, Rows
from mesocosm.rollouts.executor import LineLog, ModelAccess, PlayedSample, RowFailure, RowJob, RowOutcome
from mesocosm.rollouts.rows import RolloutRow
from mesocosm.store import open_store

ROWS = 40
TRIALS = 3
KINDS = {"plus": "+", "minus": "-", "times": "*"}
TOOL = {"type": "function", "function": {"name": "calculate", "parameters": {"type": "object"}}}
TRACEBACK = """Traceback (most recent call last):
  File "main.py", line 31, in run
    total = int(answer)
            ^^^^^^^^^^^
ValueError: invalid literal for int() with base 10: 'about forty'
"""
BROKEN: dict[int, tuple[Cause, str]] = {
    5: (Cause.WORKFLOW_FAILED, "ValueError: invalid literal for int() with base 10: 'about forty'"),
    11: (Cause.WORKFLOW_TIMEOUT, "the workflow exceeded its 30s deadline"),
    17: (Cause.WORKFLOW_INVALID, "the workflow returned int; it must return AgentWorkflowOutput or None"),
    23: (Cause.GRADER_ERROR, "KeyError: 'answer'"),
    29: (Cause.GRADER_TIMEOUT, "grader exceeded its 10s deadline"),
}
LEFT_OUT = 35


def sums() -> Iterator[RolloutRow]:
    """Yield the rows of the dataset."""
    made = random.Random(7)
    for place in range(ROWS):
        name, sign = list(KINDS.items())[place % 3]
        low, high = made.randrange(10, 99), made.randrange(2, 30)
        value = {"+": low + high, "-": low - high, "*": low * high}[sign]
        asked = {"role": "user", "content": f"What is {low} {sign} {high}?"}
        facts = {"operation": name, "difficulty": ("easy", "medium", "hard")[place % 5 % 3]}
        told = {"role": "system", "content": "Solve the sum. Use the **calculator** where it helps."}
        yield RolloutRow(place, (told, asked), str(value), {"sum": f"{low} {sign} {high}"}, facts)


class Solver:
    """A model that solves some sums, by its skill; as a judge it always finds the steps clear."""

    capabilities = Capabilities(tools=True)

    def __init__(self, settings: ModelSettings) -> None:
        self._skill = float(settings.name.rpartition("-")[2]) / 100

    async def check(self) -> None:
        """It can always answer."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Ask for the tool first; then say what it gave, or something else."""
        words = [message.content for message in request.messages if isinstance(message.content, str)]
        view = request.view
        made = random.Random(f"{words[-2:]} {view.task if view else ''} {view.trial if view else 0}")
        usage = Usage(made.randrange(80, 400), made.randrange(10, 90), calls=1, cost_usd=made.random() / 1_000)
        if any("Are the steps clear" in word for word in words):
            return ModelReply("yes", usage=usage, model="solver")
        if not request.tools or any(message.role == "tool" for message in request.messages):
            right = made.random() < self._skill
            return ModelReply("The tool says so." if right else "I would say less.", usage=usage, model="solver")
        call = ToolCall("call-1", "calculate", {"sum": words[-1].removeprefix("What is ").removesuffix("?")})
        return ModelReply("", "It is better to calculate this.", (call,), "tool_calls", usage, "solver")

    async def close(self) -> None:
        """Nothing is held."""


class Desk:
    """Implements rollouts.executor.Place: asks its model, grades the answer, and breaks where BROKEN says so.

    Every sample takes `seconds` more than it must.
    """

    capacity = 8

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._client = httpx.AsyncClient(trust_env=False, timeout=30)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Nothing has to be started."""

    async def run(self, work: RowJob, log: LineLog) -> RowOutcome:
        """Play one try of one row."""
        log("stdout", f"row {work.row}, trial {work.trial}")
        ended = await self._ended(work)
        return replace(ended, queued_s=0.02 * (work.row % 7), workflow_s=0.4 + 0.05 * (work.row % 13), grader_s=0.11)

    async def _ended(self, work: RowJob) -> RowOutcome:
        await asyncio.sleep(self._seconds)
        messages = [dict(message) for message in work.prompt]
        right = await self._converse(work, messages)
        cause, words = BROKEN.get(work.row, (None, ""))
        sample = PlayedSample(tuple(messages))
        if cause is not None and work.trial != 1:
            detail = TRACEBACK if cause is Cause.WORKFLOW_FAILED else ""
            return RowOutcome(sample, RowFailure(cause, words, detail))
        if work.row == LEFT_OUT:
            return RowOutcome(PlayedSample(tuple(messages), left_out=True))
        clear = await self._judge(work)
        metrics = {"steps": float(len(messages)), "clear": clear}
        reward = 1.0 if right else 0.25 * (work.row % 3)
        if work.row % 10 == 0:
            work.artifacts.mkdir(parents=True, exist_ok=True)
            (work.artifacts / "notes.txt").write_text("what was thought")
        extra = {"confidence": "high" if right else "low"}
        return RowOutcome(PlayedSample(tuple(messages), reward, metrics, extra))

    async def _converse(self, work: RowJob, messages: list[dict[str, Any]]) -> bool:
        first = await self._ask(work.model, messages, [TOOL])
        messages.append(first)
        calls = first.get("tool_calls") or ()
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": str(work.label)} for call in calls]
        last = await self._ask(work.model, messages, [TOOL])
        messages.append(last)
        return "tool says" in str(last["content"])

    async def _judge(self, work: RowJob) -> float:
        if work.judge is None:
            return 0.0
        question = [{"role": "user", "content": "Are the steps clear? Say yes or no."}]
        said = await self._ask(work.judge, question, None)
        return float(said["content"] == "yes")

    async def _ask(self, access: ModelAccess, messages: list[dict[str, Any]], tools: Any) -> dict[str, Any]:
        body = {"model": access.model, "messages": messages, **({"tools": tools} if tools else {})}
        answer = await self._client.post(
            f"{access.base_url}/chat/completions", json=body, headers={"Authorization": f"Bearer {access.api_key}"}
        )
        if answer.status_code != httpx.codes.OK:
            raise EpisodeError(Cause.ROLLOUT_FAILED, answer.text[:200])
        message: dict[str, Any] = answer.json()["choices"][0]["message"]
        return message

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()


@dataclass(frozen=True)
class Planned:
    """One run to record."""

    name: str
    skill: int
    trials: int
    seconds: float = 0.0


PLANNED = (
    Planned("careful", 90, TRIALS),
    Planned("hasty", 55, TRIALS),
    Planned("once", 70, 1),
)
SLOW = (Planned("watched", 70, TRIALS, 0.4),)


def record(results: Path, runs: Sequence[Planned] = PLANNED) -> list[Run]:
    """Record runs into a results directory."""
    MODELS.register("sums")(Solver)
    store = open_store(results)
    try:
        return [asyncio.run(_run(one, results, store)) for one in runs]
    finally:
        store.close()


async def _run(planned: Planned, results: Path, store: Any) -> Run:
    rows = tuple(sums())
    chosen = Rows("sums", rows, range(len(rows)), f"all {len(rows)} rows", "d1")
    origin = RolloutSource("calculator", measure="calculator", inputs={"rollout": "a1"})
    benchmark = RolloutBenchmark(origin, chosen, GradingTerms(), Desk(planned.seconds), artifacts=results / "artifacts")
    kind = f"sums-{planned.name}"
    SOURCES.register(kind)(lambda ref: benchmark)
    spec = RunSpec(
        BenchmarkRef(kind, ""),
        ModelSettings(f"sums/solver-{planned.skill}"),
        AgentSettings("program"),
        Selection(trials=planned.trials),
        parallel=8,
        name=planned.name,
    )
    return await session.run(spec, store)


if __name__ == "__main__":
    for run in record(Path(sys.argv[1]), SLOW if sys.argv[2:] == ["slow"] else PLANNED):
        print(run.id, run.status, [(metric.name, metric.value) for metric in run.metrics])
