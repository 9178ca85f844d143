"""The native worker: the run's model in a tool loop, alone or behind a control plane that delegates to it.

In the mode `direct_shell` one conversation holds the task and the work tools. In the mode `orchestrated` the
conversation `orchestrator` gets the task and can only delegate and finish; each delegation is a separate conversation
with the work tools, and its last message is the report.
"""

import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mesocosm.benchmarks.orchestrated import prompt
from mesocosm.benchmarks.orchestrated.capability import Evidence
from mesocosm.benchmarks.orchestrated.job import CellJob
from mesocosm.benchmarks.orchestrated.tool import call, shortened, wrong_arguments
from mesocosm.core.message import Message
from mesocosm.core.ports import Observation, Step
from mesocosm.core.turn import Answer, CalledTool, Turn, read_answer

ORCHESTRATOR, PROVIDER = "orchestrator", "provider"
MOST_CALLS = 8
"""Maximum number of calls of one answer that are executed."""
PATIENCE = 3
"""Maximum number of replies without a call or an end before a conversation is ended."""
RESERVE = 2
"""Number of steps that a worker leaves to the control plane, so that it can still finish."""


class CellEnvironment:
    """Implements core.ports.Environment for one cell in which the run's own model acts."""

    def __init__(self, job: CellJob, evidence: Evidence, *, orchestrated: bool, max_steps: int) -> None:
        self._job = job
        self._evidence = evidence
        self._orchestrated = orchestrated
        self._max_steps = max_steps
        self._steps = 0
        self._thread = ORCHESTRATOR if orchestrated else "worker"
        self._idle = 0
        self._over = False
        self._answer: str | None = None
        self._observed: dict[str, None] = {}
        self._used: Counter[str] = Counter()
        self._waiting: deque[CalledTool] = deque()
        self._reports: list[Message] = []
        self._delegations = self._successful = 0
        self._seconds = {ORCHESTRATOR: 0.0, PROVIDER: 0.0}
        self._since = 0.0
        self._script: Iterator[Answer] = iter(())

    async def reset(self) -> Observation:
        """Prepare the work and give the task to the first conversation."""
        await self._job.open()
        finish = self._job.finish
        task = (Message("user", self._job.prompt),)
        if self._orchestrated:
            system = prompt.ORCHESTRATOR.format(finish=finish.name)
            return self._said(Turn(task, (prompt.DELEGATE, finish), ORCHESTRATOR, system))
        self._script = self._perfect()
        tools = tuple(own.tool for own in self._job.tools.values())
        system = f"{self._job.briefing}\n{prompt.DIRECT.format(finish=finish.name)}"
        return self._said(Turn(task, (*tools, finish), self._thread, system))

    async def step(self, action: Any) -> Step:
        """Process an answer of the current conversation."""
        self._steps += 1
        plane = ORCHESTRATOR if self._thread == ORCHESTRATOR else PROVIDER
        turn = await self._next(read_answer(action))
        self._seconds[plane] += time.monotonic() - self._since
        if turn is not None and self._steps < self._max_steps:
            return Step(self._said(turn))
        return Step(Observation(None), terminated=self._over, truncated=not self._over, info=await self._info())

    async def oracle(self) -> Any:
        """Return the best next answer."""
        if self._thread == ORCHESTRATOR:
            if not self._delegations:
                return Answer("", (CalledTool("delegate", {"instructions": self._job.prompt}),)).data()
            return self._solved().data()
        return next(self._script, Answer(self._job.solution) if self._orchestrated else self._solved()).data()

    async def close(self) -> None:
        """Release the resources of the work."""
        await self._job.close()

    # Turns

    async def _next(self, answer: Answer) -> Turn | None:
        if self._thread == ORCHESTRATOR:
            return self._direct(answer)
        turn = await self._work(answer)
        late = self._max_steps - self._steps <= RESERVE and self._thread != ORCHESTRATOR
        if turn is not None and self._orchestrated and late:
            return self._reported(prompt.LATE.format(worker=self._thread), successful=False)
        return turn

    def _direct(self, answer: Answer) -> Turn | None:
        """Process an answer of the control plane."""
        if not answer.tool_calls:
            return self._spoken(answer.text)
        self._idle = 0
        finish = self._job.finish
        if len(answer.tool_calls) == 1 and answer.tool_calls[0].name == finish.name:
            return self._finished(answer.tool_calls[0])
        for place, called in enumerate(answer.tool_calls):
            if place >= MOST_CALLS:
                self._hear(called, prompt.CROWDED)
            elif called.name == finish.name:
                self._hear(called, prompt.ALONE.format(finish=finish.name))
            elif called.name != prompt.DELEGATE.name:
                self._hear(called, f"Error: there is no tool {called.name[:80]!r}; there are delegate, {finish.name}.")
            elif wrong := wrong_arguments(prompt.DELEGATE, called.arguments):
                self._hear(called, f"Error: {wrong}")
            else:
                self._waiting.append(called)
        return self._delegate()

    def _delegate(self) -> Turn:
        """Start the next pending delegation; if there is none, return the reports to the control plane."""
        if not self._waiting:
            reports, self._reports = tuple(self._reports), []
            self._thread = ORCHESTRATOR
            return Turn(reports, thread=ORCHESTRATOR)
        self._delegations += 1
        self._idle = 0
        self._thread = f"worker-{self._delegations}"
        self._script = self._perfect()
        instructions = Message("user", self._waiting[0].arguments["instructions"])
        tools = tuple(own.tool for own in self._job.tools.values())
        return Turn((instructions,), tools, self._thread, f"{self._job.briefing}\n{prompt.WORKER}")

    async def _work(self, answer: Answer) -> Turn | None:
        """Process an answer of a worker."""
        if not answer.tool_calls:
            if not self._orchestrated:
                return self._spoken(answer.text)
            if answer.text.strip():
                report = prompt.REPORTED.format(worker=self._thread, report=shortened(answer.text))
                return self._reported(report, successful=True)
            self._idle += 1
            if self._idle >= PATIENCE:
                return self._reported(prompt.SILENT.format(worker=self._thread), successful=False)
            return Turn((Message("user", prompt.REPORT),), thread=self._thread)
        self._idle = 0
        return await self._worked(answer.tool_calls)

    async def _worked(self, calls: Sequence[CalledTool]) -> Turn | None:
        results: list[Message] = []
        for place, called in enumerate(calls):
            if called.name == self._job.finish.name and not self._orchestrated:
                ended = self._finished(called)
                if ended is None:
                    return None
                results += ended.messages
            elif place >= MOST_CALLS:
                results.append(Message("tool", prompt.CROWDED, tool_call_id=called.id))
            else:
                done = await call(self._job.tools, called)
                self._used[called.name if called.name in self._job.tools else "unknown"] += 1
                if done.capability:
                    self._observed[done.capability] = None
                results.append(Message("tool", done.text, tool_call_id=called.id))
        return Turn(tuple(results), thread=self._thread)

    def _reported(self, report: str, *, successful: bool) -> Turn:
        self._successful += successful
        self._hear(self._waiting.popleft(), report)
        if self._max_steps - self._steps <= RESERVE:
            while self._waiting:
                self._hear(self._waiting.popleft(), "Error: there are no steps left for another worker.")
        return self._delegate()

    def _hear(self, called: CalledTool, text: str) -> None:
        self._reports.append(Message("tool", text, tool_call_id=called.id))

    def _spoken(self, text: str) -> Turn | None:
        """Process text without a call in a conversation that may end the episode."""
        answer = self._job.answer_in(text)
        if answer is not None:
            self._over, self._answer = True, answer
            return None
        self._idle += 1
        if self._idle >= PATIENCE:
            self._over = True
            return None
        return Turn((Message("user", prompt.GO_ON),), thread=self._thread)

    def _finished(self, called: CalledTool) -> Turn | None:
        wrong = wrong_arguments(self._job.finish, called.arguments)
        if wrong:
            return Turn((Message("tool", f"Error: {wrong}", tool_call_id=called.id),), thread=self._thread)
        self._over, self._answer = True, called.arguments.get("answer", "")
        return None

    # Observations and facts

    def _said(self, turn: Turn) -> Observation:
        self._since = time.monotonic()
        return Observation(turn.data())

    async def _info(self) -> dict[str, Any]:
        evidence = replace(self._evidence, observed=tuple(self._observed))
        return {
            **await self._job.result(self._answer),
            "capabilities": evidence.data(),
            "tool_calls": dict(self._used),
            "delegations": self._delegations,
            "delegations_successful": self._successful,
            "orchestration_time_ms": round(1000 * self._seconds[ORCHESTRATOR], 3),
            "provider_execution_time_ms": round(1000 * self._seconds[PROVIDER], 3),
        }

    # The oracle

    def _perfect(self) -> Iterator[Answer]:
        script = tuple(self._job.script)
        return (Answer("", script[first : first + MOST_CALLS]) for first in range(0, len(script), MOST_CALLS))

    def _solved(self) -> Answer:
        return Answer("", (CalledTool(self._job.finish.name, {"answer": self._job.solution}),))
