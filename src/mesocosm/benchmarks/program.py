"""One run of an external program: start it with only what its descriptor declares, watch it, and read its results."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from mesocosm.benchmarks.attempt import AttemptDirectory, AttemptEnd, begin, latest, note_calls
from mesocosm.benchmarks.attribution import attributed
from mesocosm.benchmarks.findings import AttemptScores, ProgramPlan
from mesocosm.benchmarks.output import Output
from mesocosm.benchmarks.placeholders import UnsetPlaceholder, fill, text
from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, UsageError
from mesocosm.core.inherited import inherited
from mesocosm.core.ports import Observation, Process, Step
from mesocosm.core.proxy import AskedCall, ProgramTrace, ProxyAddress
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.sandboxes.bubblewrap import BubblewrapSandbox, python_folders
from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.telemetry import OFF

_HOMES = ("PATH", "HOME", "TMPDIR", "TEMP", "TMP")
"""These point to paths that a confined program cannot see."""
LOOPBACK = "127.0.0.1,localhost"
GRACE_S = 5.0
TAIL_LINES = 20


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """What to run: the descriptor's plan, all parameter values, the directories, and the repetition.

    `readable` lists what a confined program may read in addition to its own folder.
    """

    plan: ProgramPlan
    values: Mapping[str, Any]
    folder: Path
    output: Path
    trial: int = 0
    readable: tuple[Path, ...] = ()


class ProgramEnvironment:
    """The environment of a program's own task. Implements core.ports.Environment and core.proxy.Program."""

    def __init__(self, command: ProgramCommand, shown: Any, content: Content | None = None) -> None:
        self._command = command
        self._content = content
        self._shown = shown

    async def reset(self) -> Observation:
        """Return the task as an observation; the program starts in `play`."""
        return Observation(self._shown)

    async def step(self, action: Any) -> Step:
        """Raise RunAborted: only the program acts here."""
        del action
        raise RunAborted("a program plays this benchmark by itself; use the agent 'program'")

    async def oracle(self) -> Any:
        """Raise EpisodeError: a program has no best action."""
        raise EpisodeError(Cause.ENVIRONMENT_ERROR, "a benchmark that is a program has no oracle")

    async def close(self) -> None:
        """Do nothing: the program has already ended in `play`."""

    async def play(self, address: ProxyAddress, log: ProgramTrace, seconds: float | None = None) -> Step:
        """Run the program to its end and return its results. Raises EpisodeError, InfrastructureError.

        Raises EpisodeError (cancelled) if one of its files changed meanwhile: which content it read is then unknown.
        """
        await self._unchanged()
        attempt = begin(self._command.output)
        ended = await _Play(self._command, attempt, address, log).work(seconds)
        await self._unchanged()
        return AttemptScores(self._command.plan, attempt.root, ended).step()

    async def attribute(self, step: Step, calls: Sequence[AskedCall]) -> Step:
        """Keep which of the program's model calls belong to which of its items, and tell how many do."""
        if not calls or not self._command.plan.part.items:
            return step
        ended = latest(self._command.output, self._command.trial)
        if ended is None or ended.attempt != step.info.get("attempt"):
            return step
        root = self._command.output.resolve()
        items = await asyncio.to_thread(lambda: AttemptScores(self._command.plan, root, ended).items)
        found = await asyncio.to_thread(attributed, items.found, calls)
        note_calls(root, ended.attempt, found)
        count = sum(map(len, found.values()))
        told = {"calls_of_items": count, "calls_of_no_item": len(calls) - count}
        return msgspec.structs.replace(step, info={**step.info, **told})

    async def _unchanged(self) -> None:
        if self._content is not None:
            await self._content.check()


class _Play:
    """One attempt."""

    def __init__(
        self, command: ProgramCommand, attempt: AttemptDirectory, address: ProxyAddress, log: Callable[[str, str], None]
    ) -> None:
        self._command = command
        self._part = command.plan.part
        self._attempt = attempt
        self._address = address
        self._environment = self._variables()
        self._redactor = Redactor(secret_values(os.environ) | secret_values(self._environment) | {address.token} - {""})
        self._log = log
        self._started = time.monotonic()

    async def work(self, seconds: float | None) -> AttemptEnd:
        """Run the attempt. Raises EpisodeError with its facts if it failed."""
        output = Output(self._attempt.folder, self._log, self._redactor)
        process: ForeignProcess | None = None
        try:
            process = await self._start(output)
            late = await self._watch(process, output, seconds or self._part.timeout_s)
        finally:
            if process is not None:
                await process.stop(GRACE_S)
            output.close()
        return self._conclude(process, late)

    async def _start(self, output: Output) -> ForeignProcess:
        values = self._values()
        try:
            argv = fill(self._part.argv, values)
            cwd = self._command.folder / text(self._part.cwd, values)
        except (UsageError, UnsetPlaceholder) as error:
            raise EpisodeError(Cause.SANDBOX_FAILED, f"the command cannot be put together: {error}") from error
        if self._part.sandbox == "plain":
            return await PlainSandbox(environment={}, heard=output.hear).start(argv, cwd=cwd, env=self._environment)
        confined = BubblewrapSandbox(
            readable=(*python_folders(), self._command.folder, *self._command.readable),
            writable=(self._attempt.output,),
            heard=output.hear,
            reachable=(urlsplit(self._address.url).port or 80,),
        )
        seen = {name: value for name, value in self._environment.items() if name not in _HOMES}
        return await confined.start(argv, cwd=cwd, env=seen)

    async def _watch(self, process: ForeignProcess, output: Output, seconds: float) -> str:
        """Wait for the program to end; return why it had to be stopped, or an empty string."""
        silence = self._part.silence_s
        ended = asyncio.ensure_future(process.wait())
        try:
            while True:
                now = time.monotonic()
                left = self._started + seconds - now
                quiet = output.heard_at + silence - now if silence is not None else left
                if left <= 0:
                    return f"did not end within {seconds:g} s"
                if quiet <= 0:
                    return f"printed nothing for {silence:g} s"
                await asyncio.wait({ended}, timeout=min(left, quiet))
                if ended.done():
                    return ""
        finally:
            ended.cancel()
            with suppress(asyncio.CancelledError):
                await ended

    def _conclude(self, process: Process, late: str) -> AttemptEnd:
        attempt, plan = self._attempt, self._command.plan
        located = plan.locate(attempt)
        code = process.returncode
        lacking = "" if late or code else plan.lacking(located)
        ended = AttemptEnd(
            attempt=attempt.number,
            trial=self._command.trial,
            returncode=code,
            duration_s=round(time.monotonic() - self._started, 3),
            result=located.result,
            items=located.items,
            failed=bool(late or code or lacking),
        )
        attempt.conclude(ended)
        if late:
            raise self._failed(Cause.PROGRAM_TIMEOUT, f"the program {late} and was ended", process, ended)
        if code:
            raise self._failed(Cause.PROGRAM_FAILED, f"the program ended with {_ending(code)}", process, ended)
        if lacking:
            raise self._failed(Cause.PROGRAM_FAILED, f"the program ended well, but {lacking}", process, ended)
        return ended

    def _failed(self, cause: Cause, message: str, process: Process, ended: AttemptEnd) -> EpisodeError:
        errors = process.stderr_tail(TAIL_LINES)
        words = errors or process.stdout_tail(TAIL_LINES)
        message += f"; its output is in {self._attempt.folder / ('stderr.log' if errors else 'stdout.log')}"
        facts = AttemptScores(self._command.plan, self._attempt.root, ended).facts()
        return EpisodeError(cause, message, stderr=self._redactor.text(words), facts=facts)

    def _values(self) -> dict[str, Any]:
        settings = self._address.settings
        return {
            "python": sys.executable,
            "provider": self._address.provider,
            "model": self._address.model,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": settings.extra.get("seed"),
            "trial": self._command.trial,
            "base_url": self._address.variables.get("OPENAI_BASE_URL", self._address.url),
            "output": str(self._attempt.output),
            "folder": str(self._command.folder),
            **self._command.values,
        }

    def _variables(self) -> dict[str, str]:
        """Return the whole environment of the program. The variables of its model endpoint override everything else."""
        declared = {name: os.environ[name] for name in self._part.pass_environment if name in os.environ}
        variables = {**OFF, **inherited(os.environ), **declared}
        values = self._values()
        for name, word in self._part.environment.items():
            with suppress(UnsetPlaceholder):
                variables[name] = text(word, values)
        for name in ("NO_PROXY", "no_proxy"):
            variables[name] = ",".join(filter(None, (variables.get(name, ""), LOOPBACK)))
        fixed = {
            "BENCHMARK_RUN_DIR": str(self._attempt.folder),
            "BENCHMARK_OUTPUT_ROOT": str(self._attempt.output),
            "BENCHMARK_MODEL_PROVIDER": self._address.provider,
            "BENCHMARK_MODEL_NAME": self._address.model,
            "MODEL_NAME": self._address.model,
            "BENCHMARK_BASE_URL": str(values["base_url"]),
        }
        return {**fixed, **variables, **self._address.variables}


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
