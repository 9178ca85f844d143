"""Benchmarks of a guest: its tasks, its episodes, its scores."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.requirements import lacks
from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, Incompatible, MesocosmError, RunAborted, UsageError
from mesocosm.core.folder import without_folders
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.inherited import inherited
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Environment, Observation, Step
from mesocosm.core.proxy import TIME_LIMIT, ProgramTrace, ProxyAddress
from mesocosm.core.redact import Redactor
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Score, WholeNumber
from mesocosm.core.task import ROW, Task
from mesocosm.guests.interpreter import GuestPython
from mesocosm.guests.kinds import GuestKind
from mesocosm.guests.messages import Described, GuestOutcome, GuestScore, GuestTask, OriginalSample
from mesocosm.guests.places import FOLDER, OURS
from mesocosm.guests.process import GuestCommand, GuestProcess
from mesocosm.sandboxes.telemetry import OFF

SCORES, ANSWER = "scores", "answer"
"""Keys in the terminal info of an episode that a guest played."""
MOST_DEATHS = 3
"""How often a guest may die in a row without finishing an episode before the run ends."""


class GuestBenchmark:
    """A benchmark whose framework plays its episodes by itself. Implements core.ports.Benchmark.

    The guest starts when the first fact about it is asked for. If its process dies, the next episode starts it again,
    and those that were in flight are played once more, one after the other in a second guest: that finds the one that
    kills it.
    """

    observation_space: Any = None

    def __init__(self, kind: GuestKind, ref: BenchmarkRef, python: GuestPython) -> None:
        self.kind = kind
        self.source = ref.source
        self.arguments = {name: value for name, value in ref.options.items() if name not in OURS}
        self._folder = str(ref.options.get(FOLDER, ""))
        self.python = python
        self._guest: GuestProcess | None = None
        self._ready: GuestProcess | None = None
        self._spare: GuestProcess | None = None
        self._deaths: dict[int, None] = {}
        self._opening = asyncio.Lock()
        self.alone = asyncio.Lock()

    @property
    def action_space(self) -> Any:
        """None: the framework reads the replies of its model itself."""
        return None

    @cached_property
    def described(self) -> Described:
        """What the guest has loaded. Raises UsageError if it cannot be loaded, Incompatible."""
        guest = self._started()
        try:
            told = guest.tell("describe", source=self.source, args=self.arguments)
            self._ready = guest
            return msgspec.convert(told, Described)
        except EpisodeError as error:
            self._guest = None
            guest.end()
            raise self._unloadable(error) from error
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.kind.name}:{self.source}: the guest describes it unreadably: {error}") from error

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts that the guest tells."""
        told = self.described
        return BenchmarkInfo(
            id=told.id,
            title=_titled(told.title, self.kind.name),
            version=told.version,
            digest=told.digest,
            kind=self._kind,
            metrics=told.metrics,
            description=told.description,
            max_steps=told.max_steps,
            parallel=told.parallel,
            system_prompt=told.system_prompt,
            oracle=told.oracle,
            card={
                "framework": self.kind.title,
                "source": f"{self.kind.name}:{without_folders(self.source)}",
                "packages": told.packages,
                **told.card,
            },
            judged=told.judged,
            discovers=told.discovers or not told.metrics,
            agent=self._agent,
            max_tokens=told.max_tokens,
            logprobs=told.logprobs,
            trials=told.trials,
        )

    _agent, _kind = "program", "command"

    @cached_property
    def all_tasks(self) -> Sequence[Task]:
        """All tasks of the source, in its order."""
        found: list[Task] = []
        seen: Counter[str] = Counter()

        def heard(event: Mapping[str, Any]) -> None:
            told = msgspec.convert(event["task"], GuestTask)
            task = Task(
                told.id,
                input=told.input,
                target=told.target,
                seed=told.seed,
                cluster=told.cluster,
                metadata={**told.metadata, ROW: told.place},
                labels=told.labels,
            )
            content = task.digest()
            if occurrence := seen[content]:
                task = msgspec.structs.replace(task, occurrence=occurrence)
            seen[content] += 1
            found.append(task)

        _ = self.described
        try:
            self._started().tell("tasks", heard)
        except EpisodeError as error:
            raise self._unloadable(error) from error
        except msgspec.ValidationError as error:
            raise UsageError(f"{self.kind.name}:{self.source}: a task cannot be read: {error}") from error
        return found

    def count(self, selection: Selection) -> int:
        """Return the number of tasks that `selection` selects."""
        if selection.seeds is not None:
            return len(selection.seeds)
        known = self.described.tasks
        known = len(self.all_tasks) if known is None else known
        return known if selection.count is None else min(max(selection.count, 0), known)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield all tasks in order, the first `count`, or those at the places in `seeds`. Raises UsageError."""
        tasks = self.all_tasks
        if selection.seeds is None:
            yield from tasks[: selection.count]
            return
        unknown = next((place for place in selection.seeds if not 0 <= place < len(tasks)), None)
        if unknown is not None:
            raise UsageError(f"{self.info.id} has tasks 0 to {len(tasks) - 1}, no {unknown}")
        yield from (tasks[place] for place in selection.seeds)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Check that this machine has what the tasks need. Raises Incompatible."""
        lacking = [words for need in self.described.needs if (words := lacks(need, os.environ))]
        if lacking:
            raise Incompatible(self.info.id, lacking)
        if self.python.how == "found":
            notice(f"{self.kind.title} runs in {self.python.path}")
        for words in self.described.notices:
            notice(words)

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of the first repetition of a task."""
        return await self.environment_of(task, episode_id, 0)

    async def environment_of(self, task: Task, episode_id: str, trial: int) -> Environment:
        """Return the environment of one episode, which the guest plays."""
        return GuestEpisode(self, task, episode_id, trial)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores that the guest gave, as they are recorded."""
        del task
        return [score.score() for score in msgspec.convert(episode.terminal_info.get(SCORES, []), list[GuestScore])]

    @property
    def has_whole(self) -> bool:
        """Whether the guest has numbers of a whole run."""
        return bool(self.described.whole)

    def whole(self, infos: Iterable[Mapping[str, Any]]) -> Sequence[WholeNumber]:
        """Return the numbers of a whole run, made by the guest of what episodes keep for it. Raises EpisodeError."""
        key = self.described.whole
        held = [{**info[key]} for info in infos if isinstance(info.get(key), Mapping)]
        guest = self._ready
        if guest is None or not guest.alive:
            guest = self._spare = self._new()
            guest.tell("describe", source=self.source, args=self.arguments)
        try:
            return msgspec.convert(guest.tell("whole", infos=held), list[WholeNumber])
        except msgspec.ValidationError as error:
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"the guest answered unreadably: {error}") from error

    async def close(self) -> None:
        """End the processes of the guest."""
        guests, self._guest, self._ready, self._spare = (self._guest, self._spare), None, None, None
        for guest in guests:
            if guest is not None:
                await guest.close()

    def original(self, base_url: str, key: str, model: str, limit: int | None, trials: int) -> list[OriginalSample]:
        """Let the framework's own runner play the first `limit` tasks with the model at an address. Blocks.

        Raises UsageError if the source cannot be loaded, EpisodeError if the runner fails or there is none.
        """
        _ = self.described
        return self._original(base_url=base_url, key=key, model=model, limit=limit, trials=trials)

    def _original(self, **asked: Any) -> list[OriginalSample]:
        found: list[OriginalSample] = []

        def heard(event: Mapping[str, Any]) -> None:
            found.append(msgspec.convert(event["sample"], OriginalSample))

        self._started().tell("original", heard, **asked)
        return found

    async def ready(self) -> GuestProcess:
        """Return the guest with its source loaded; a dead one is started again. Raises EpisodeError, RunAborted."""
        if self._ready is not None and self._ready.alive:
            return self._ready
        async with self._opening:
            if self._ready is None or not self._ready.alive:
                dead, self._guest, self._ready = self._guest, None, None
                self._guest = self._ready = await self._again(dead)
            return self._ready

    async def spare(self) -> GuestProcess:
        """Return the second guest, for an episode that is played alone. Raises EpisodeError, RunAborted."""
        if self._spare is None or not self._spare.alive:
            self._spare = await self._again(self._spare)
        return self._spare

    def finished(self) -> None:
        """Note that an episode ended in the guest: it works."""
        self._deaths.clear()

    def died(self, guest: GuestProcess, error: EpisodeError) -> None:
        """Note that a guest died. Raises RunAborted if one after the other does without finishing an episode."""
        self._deaths[id(guest)] = None
        if len(self._deaths) >= MOST_DEATHS:
            raise RunAborted(f"{error}, and so did {len(self._deaths) - 1} before it{_last_words(error)}") from error

    async def _again(self, dead: GuestProcess | None) -> GuestProcess:
        """Return a new guest with the source loaded, which must be what it was."""
        if dead is not None:
            await dead.close()
        guest = self._new()
        told = msgspec.convert(await guest.ask("describe", source=self.source, args=self.arguments), Described)
        if told.digest != self.described.digest:
            await guest.close()
            raise RunAborted(
                f"{self.kind.name}:{self.source} is no longer what it was when the run began (content "
                f"{self.described.digest}, now {told.digest}); start a new run"
            )
        return guest

    def _started(self) -> GuestProcess:
        if self._guest is None:
            self._guest = self._new()
        return self._guest

    def _new(self) -> GuestProcess:
        variables = {**OFF, "PYTHONHASHSEED": "0", **inherited(os.environ)}
        title = f"of {self.kind.title}"
        folder = Path(self._folder) if self._folder and Path(self._folder).is_dir() else Path.cwd()
        return GuestProcess(GuestCommand(self.python.path, self.kind.module, variables, folder, title))

    def _unloadable(self, error: EpisodeError) -> MesocosmError:
        """Return what a failed `describe` means: almost always a wrong name."""
        what = f"{self.kind.name}:{self.source} cannot be loaded: {error}"
        if error.cause is Cause.SANDBOX_FAILED:
            return UsageError(what + _last_words(error))
        return UsageError(what)


class GuestEpisode:
    """One episode that the guest plays. Implements core.ports.Environment and core.proxy.Program."""

    def __init__(self, benchmark: GuestBenchmark, task: Task, episode_id: str, trial: int) -> None:
        self._benchmark = benchmark
        self._task = task
        self._id = episode_id
        self._trial = trial

    async def reset(self) -> Observation:
        """Return the task as an observation; the guest starts in `play`."""
        return Observation(self._task.input)

    async def step(self, action: Any) -> Step:
        """Raise RunAborted: only the guest acts here."""
        del action
        raise RunAborted(f"{self._benchmark.kind.title} plays its tasks by itself; use the agent 'program'")

    async def oracle(self) -> Any:
        """Raise EpisodeError: a framework has no best action."""
        raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"a task of {self._benchmark.kind.title} has no oracle")

    async def close(self) -> None:
        """Do nothing: the episode has already ended in `play`."""

    async def play(self, address: ProxyAddress, log: ProgramTrace, seconds: float | None = None) -> Step:
        """Let the guest play the episode; return its scores in the info of the step. Raises EpisodeError."""
        redactor = Redactor({address.token, *((address.judge.token,) if address.judge else ())})
        try:
            guest = await self._benchmark.ready()
            return await self._played(guest, address, log, seconds, redactor)
        except EpisodeError as error:
            if error.cause is not Cause.SANDBOX_FAILED:
                raise
            log("guest", f"{error}; this episode is played once more, alone")
        async with self._benchmark.alone:
            guest = await self._benchmark.spare()
            try:
                return await self._played(guest, address, log, seconds, redactor)
            except EpisodeError as error:
                if error.cause is not Cause.SANDBOX_FAILED:
                    raise
                what = f"{error}, each time it played this episode"
                raise EpisodeError(Cause.PROGRAM_FAILED, what, stderr=error.stderr) from error

    async def _played(
        self, guest: GuestProcess, address: ProxyAddress, log: ProgramTrace, seconds: float | None, redactor: Redactor
    ) -> Step:
        def heard(event: Mapping[str, Any]) -> None:
            log.record(Kind(event["kind"]), redactor.value(event.get("payload")))

        try:
            told = await guest.ask(
                "play",
                heard,
                episode=self._id,
                task=self._task.id,
                place=self._task.row,
                trial=self._trial,
                seed=self._task.seed,
                seconds=seconds,
                sampling=_sampling(address.settings),
                **_reached(address),
                judge=None if address.judge is None else _reached(address.judge),
            )
        except EpisodeError as error:
            if error.cause is Cause.SANDBOX_FAILED:
                self._benchmark.died(guest, error)
            raise _redacted(error, redactor) from None
        self._benchmark.finished()
        try:
            ended = msgspec.convert(told, GuestOutcome)
        except msgspec.ValidationError as error:
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"the guest ended the episode unreadably: {error}") from error
        return _step(ended, redactor)


def _titled(title: str, framework: str) -> str:
    """Return a title that names the framework: names such as `gsm8k` are used by several."""
    return f"{title[:-1]}, {framework})" if title.endswith(")") else f"{title} ({framework})"


def _step(ended: GuestOutcome, redactor: Redactor) -> Step:
    late = {"reason": TIME_LIMIT} if ended.status == "timeout" else {}
    scores = msgspec.to_builtins(ended.scores)
    info = redactor.value({**ended.info, **late, ANSWER: ended.answer, SCORES: scores})
    # The number of another score in place of a missing one would be a lie.
    first = ended.scores[0].value if ended.scores else None
    return Step(
        Observation(redactor.value(ended.answer)),
        reward=first or 0.0,
        terminated=ended.status == "completed",
        truncated=ended.status != "completed",
        info=info,
    )


def _reached(address: ProxyAddress) -> dict[str, Any]:
    """Return how a client of the guest reaches a model."""
    return {"base_url": f"{address.url}/v1", "key": address.token, "model": address.model}


def _sampling(settings: ModelSettings) -> dict[str, Any]:
    return {"temperature": settings.temperature, "max_tokens": settings.max_tokens, "top_p": settings.top_p}


def _redacted(error: EpisodeError, redactor: Redactor) -> EpisodeError:
    return EpisodeError(
        error.cause,
        redactor.text(str(error)),
        detail=redactor.text(error.detail),
        stderr=redactor.text(error.stderr),
        facts=error.facts,
    )


def _last_words(error: EpisodeError) -> str:
    return f"; it said last:\n{error.stderr}" if error.stderr else ""
