"""A cell in which an installed coding agent acts: alone, or as the worker behind a control plane."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.orchestrated.agent_program import MOST_OUTPUT, command, read_output, variables
from mesocosm.benchmarks.orchestrated.capability import Evidence
from mesocosm.benchmarks.orchestrated.control_plane import ControlPlane
from mesocosm.benchmarks.orchestrated.conversation import ORCHESTRATOR, CellEnvironment
from mesocosm.benchmarks.orchestrated.job import CellJob
from mesocosm.benchmarks.orchestrated.provider import AgentProvider
from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.ports import Observation, Step
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.turn import Answer, read_turn
from mesocosm.http.client import HttpClient
from mesocosm.sandboxes.plain import PlainSandbox

SECONDS = 1800.0
_INHERITED = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")
_LINE = 4_000
_SILENT = "(The worker ended without words.)"


class ForeignCell:
    """Implements core.ports.Environment and core.proxy.Program for one cell."""

    def __init__(
        self, job: CellJob, provider: AgentProvider, evidence: Evidence, *, orchestrated: bool, max_steps: int
    ) -> None:
        self._job = job
        self._provider = provider
        self._evidence = evidence
        self._orchestrated = orchestrated
        self._max_steps = max_steps
        self._observed: dict[str, None] = {}

    async def reset(self) -> Observation:
        """Return the task as an observation; the program receives it in `play`."""
        return Observation(self._job.prompt, content_type="text/plain")

    async def step(self, action: Any) -> Step:
        """Raise RunAborted: only the program acts here."""
        del action
        raise RunAborted(f"{self._provider.name} plays this cell by itself; use the agent 'chat'")

    async def oracle(self) -> Any:
        """Raise EpisodeError: a program has no best action."""
        raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"a cell that {self._provider.name} plays has no oracle")

    async def close(self) -> None:
        """Release the resources of the work."""
        await self._job.close()

    async def play(self, address: ProxyAddress, log: Callable[[str, str], None], seconds: float | None = None) -> Step:
        """Run the agent to its end and return the final step. Raises EpisodeError."""
        deadline = time.monotonic() + (seconds or SECONDS)
        with tempfile.TemporaryDirectory() as home:
            worker = _Worker(self._provider, self._job, address, Path(home), log, deadline)
            step = await (self._delegated(worker, address) if self._orchestrated else self._alone(worker))
        evidence = replace(self._evidence, observed=tuple(self._observed))
        return Step(Observation(None), terminated=True, info={**step.info, "capabilities": evidence.data()})

    async def _alone(self, worker: "_Worker") -> Step:
        await self._job.open()
        started = time.monotonic()
        text = await worker.work(self._job.prompt, self._observed)
        spent = round(1000 * (time.monotonic() - started), 3)
        result = await self._job.result(self._job.answer_in(text))
        times = {"orchestration_time_ms": 0.0, "provider_execution_time_ms": spent}
        return Step(Observation(None), info={**result, "delegations": 0, "delegations_successful": 0, **times})

    async def _delegated(self, worker: "_Worker", address: ProxyAddress) -> Step:
        talk = CellEnvironment(self._job, self._evidence, orchestrated=True, max_steps=self._max_steps)
        observation = await talk.reset()
        async with HttpClient() as client:
            plane = ControlPlane(address, client)
            while True:
                turn = read_turn(observation.data)
                if turn.thread == ORCHESTRATOR:
                    answer = await plane.answer(turn)
                else:
                    answer = Answer(await worker.work(turn.messages[0].text, self._observed) or _SILENT)
                step = await talk.step(answer.data())
                if step.terminated or step.truncated:
                    return step
                observation = step.observation


class _Worker:
    """Runs the agent, once per instruction."""

    def __init__(
        self,
        provider: AgentProvider,
        job: CellJob,
        address: ProxyAddress,
        home: Path,
        log: Callable[[str, str], None],
        deadline: float,
    ) -> None:
        self._provider = provider
        self._job = job
        self._address = address
        self._home = home
        self._log = log
        self._deadline = deadline

    async def work(self, instructions: str, observed: dict[str, None]) -> str:
        """Run one instruction; return the agent's last message and add the capabilities used. Raises EpisodeError."""
        program = self._provider.program
        if program is None:
            raise EpisodeError(Cause.PROGRAM_FAILED, self._provider.absent)
        prompt = f"{self._job.directions}\n\n{instructions}"
        listener = _Listener(self._log)
        sandbox = PlainSandbox(environment={}, heard=listener.hear)
        process = await sandbox.start(
            command(self._provider.name, program, prompt, self._address), cwd=self._job.folder, env=self._environment()
        )
        code: int | None = None
        try:
            async with asyncio.timeout(max(self._deadline - time.monotonic(), 0.1)):
                code = await process.wait()
        except TimeoutError:
            pass
        finally:
            await process.stop()
        if code is None:
            message = f"{self._provider.name} did not end in time"
            raise EpisodeError(Cause.PROGRAM_TIMEOUT, message, stderr=process.stderr_tail())
        if code:
            message = f"{self._provider.name} ended with exit code {code}"
            raise EpisodeError(Cause.PROGRAM_FAILED, message, stderr=process.stderr_tail() or process.stdout_tail())
        output = read_output(listener.output)
        observed |= dict.fromkeys(output.observed)
        return output.text.strip()

    def _environment(self) -> dict[str, str]:
        """Return the agent's whole environment: a private home, and the variables of its model endpoint."""
        ours = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        return {
            **ours,
            "HOME": str(self._home),
            **variables(self._provider.name, self._address),
            **self._address.variables,
        }


class _Listener:
    """Keeps standard output, and reports every line as it arrives."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        self._log = log
        self._kept = bytearray()
        self._rest = {"stdout": b"", "stderr": b""}

    def hear(self, stream: str, data: bytes) -> None:
        """Process received output."""
        if stream == "stdout" and len(self._kept) < MOST_OUTPUT:
            self._kept += data
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        self._rest[stream] = rest[-MOST_OUTPUT:]
        for line in lines:
            self._log(stream, line.decode("utf-8", "replace")[:_LINE])

    @property
    def output(self) -> str:
        """Standard output, up to `MOST_OUTPUT`."""
        return self._kept.decode("utf-8", "replace")
