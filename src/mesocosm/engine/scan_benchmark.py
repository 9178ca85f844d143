"""A scan as an experiment: its tasks are the episodes of a run, its agent asks a model about their transcripts."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import Context, Environment, Observation, Step
from mesocosm.core.run import Run, Selection
from mesocosm.core.scan_question import EPISODE, SCAN, ScanAnswer, ScanQuestion, TranscriptPassage
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.engine.earlier_answers import ANSWER, Earlier, taken_over

PROBLEM = "problem"
"""Key of the info of the last step: why there is no answer."""
LEAST = 200
"""Characters of a transcript below which it is not shortened any further."""
CUT_OFF = "the reply was cut off; --set model.max_tokens=N raises the limit"
_OF_THE_READER = frozenset({Cause.CONTEXT_OVERFLOW, Cause.REFUSED})
"""Failures that are an agent's where it plays. The model that reads measures others: its failure leaves no answer."""
NOTHING = "nothing was said in this episode"

Transcript = Callable[[str], Sequence[TranscriptPassage]]
"""What was said in an episode, by its id."""


@dataclass(frozen=True, slots=True)
class ScanEnvironment:
    """Shows which episode is read, and takes the answer. Implements core.ports.Environment."""

    task: Task

    async def reset(self) -> Observation:
        """Return which episode it is."""
        return Observation(self.task.input)

    async def step(self, action: Any) -> Step:
        """Take the answer, or why there is none."""
        return Step(Observation(None), terminated=True, info=dict(action))

    async def oracle(self) -> Any:
        """Raise EpisodeError: nobody knows the answer."""
        raise EpisodeError(Cause.ENVIRONMENT_ERROR, "a scan has no right answer to give; ask a model")

    async def close(self) -> None:
        """Do nothing."""


class ReadingBenchmark:
    """What benchmarks share whose tasks were chosen in the store, for a model to read: not `info` and `grade`."""

    __slots__ = ()
    chosen: Sequence[Task]

    def count(self, selection: Selection) -> int:
        """Return the number of tasks."""
        del selection
        return len(self.chosen)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the tasks in plan order."""
        del selection
        yield from self.chosen

    async def open(self, notice: Callable[[str], None]) -> None:
        """Do nothing: what is read is in the store."""

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment that takes one answer."""
        del episode_id
        return ScanEnvironment(task)

    async def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class ScanBenchmark(ReadingBenchmark):
    """The question to the chosen episodes of a run. Implements core.ports.Benchmark."""

    run: Run
    question: ScanQuestion
    chosen: Sequence[Task]
    most: int
    action_space: Any = None
    observation_space: Any = None

    @property
    def info(self) -> BenchmarkInfo:
        """Facts about the scan. Another choice of episodes is another input of the same scan."""
        return BenchmarkInfo(
            id=self.question.score,
            title=f"Scan {self.question.name} of {self.run.title}: {self.question.text.strip()}",
            version="1",
            digest=digest([self.question.digest, self.run.id]),
            kind=SCAN,
            metrics=self.question.metrics(of_scan=True),
            description=f"Asks a model about the transcripts of run {self.run.id}.",
            card={"run": self.run.id, "answers": list(self.question.words) or "0 to 1"},
            inputs={"episodes": digest([task.digest() for task in self.chosen]), "characters": str(self.most)},
        )

    async def grade(self, task: Task, episode: Any) -> Sequence[Score]:
        """Return the scores of an answer. One that does not count is missing, never a 0."""
        del task
        info = episode.terminal_info
        if isinstance(info.get(ANSWER), Mapping):
            return self.question.scored(msgspec.convert(info[ANSWER], ScanAnswer))
        return self.question.scored(None, str(info.get(PROBLEM) or "there is no answer"))


@dataclass(frozen=True, slots=True)
class ScanAgent:
    """Asks the model about a transcript, once more if its reply does not count. Implements core.ports.Agent.

    A transcript has at most `most` characters; where that is too much for the model, half as many, and so on. `earlier`
    finds answers that need not be asked for again.
    """

    question: ScanQuestion
    transcript: Transcript
    most: int
    earlier: Earlier | None = None

    async def play(self, context: Context) -> None:
        """Answer the question about one episode. Raises EpisodeError."""
        await context.reset()
        if self.earlier is not None and await taken_over(context, self.earlier):
            return
        passages = await asyncio.to_thread(self.transcript, str(context.task.input[EPISODE]))
        try:
            found = await self._answer(context, passages) if passages else {PROBLEM: NOTHING}
        except EpisodeError as error:
            found = unread(error)
        await context.step(found)

    async def _answer(self, context: Context, passages: Sequence[TranscriptPassage]) -> dict[str, Any]:
        messages, unseen, reply = await self._fitting(context, passages)
        for last in (False, True):
            if reply.finish_reason == "length":
                return {PROBLEM: CUT_OFF}
            try:
                return {ANSWER: msgspec.to_builtins(self.question.read(reply.text, passages, unseen))}
            except ValueError as error:
                problem = str(error)
            if not last:
                messages = [*messages, *self.question.again(reply.text, problem)]
                reply = await context.ask(self._request(context, messages))
        return {PROBLEM: problem}

    async def _fitting(
        self, context: Context, passages: Sequence[TranscriptPassage]
    ) -> tuple[list[Message], str, ModelReply]:
        """Return the first question that fits into the model's context, what is left out of it, and the reply."""
        most = self.most
        while True:
            messages, unseen = self.question.messages(passages, most)
            try:
                return messages, unseen, await context.ask(self._request(context, messages))
            except EpisodeError as error:
                most = min(most, sum(len(passage.text) for passage in passages)) // 2
                if error.cause is not Cause.CONTEXT_OVERFLOW or most < LEAST:
                    raise

    def _request(self, context: Context, messages: Sequence[Message]) -> ModelRequest:
        settings = context.settings
        return ModelRequest(
            messages,
            settings.temperature,
            settings.max_tokens,
            settings.top_p,
            schema=self.question.schema() if context.capabilities.structured else None,
            schema_name="answer",
            timeout_s=settings.timeout_s,
            extra=settings.extra,
        )


def unread(error: EpisodeError) -> dict[str, Any]:
    """Return the info of a step without an answer, because the model does not read this. Raises any other error."""
    if error.cause not in _OF_THE_READER:
        raise error
    return {PROBLEM: f"{error.cause.value.replace('_', ' ')}: {error}"}


def answers_of(question: ScanQuestion, run_id: str, model: Any, most: int) -> str:
    """Return what the answers of a scan depend on; scans with the same lend each other theirs."""
    return digest([question.digest, run_id, model, most])
