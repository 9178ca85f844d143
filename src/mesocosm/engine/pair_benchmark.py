"""Two runs against each other, as an experiment: its tasks are pairs of answers, its agent asks which is better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.failure import EpisodeError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.message import Message
from mesocosm.core.model import ModelRequest
from mesocosm.core.pair_question import PAIR, PAIRWISE, TIE, PairQuestion, PairVerdict
from mesocosm.core.ports import Context
from mesocosm.core.run import Run
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.engine.earlier_answers import ANSWER, Earlier, taken_over
from mesocosm.engine.scan_benchmark import CUT_OFF, PROBLEM, ReadingBenchmark, unread

SAME = "both answers are the same"

Answers = Callable[[str, str], tuple[str, str, str]]
"""The task and both answers of a pair of episodes, by their ids."""


@dataclass(frozen=True, slots=True)
class PairBenchmark(ReadingBenchmark):
    """The pairs of two runs. Implements core.ports.Benchmark."""

    runs: tuple[Run, Run]
    question: PairQuestion
    chosen: Sequence[Task]
    most: int
    action_space: Any = None
    observation_space: Any = None

    @property
    def info(self) -> BenchmarkInfo:
        """Facts about the comparison. Another choice of pairs is another input of the same comparison."""
        one, other = self.runs
        return BenchmarkInfo(
            id=PAIRWISE,
            title=f"{self.question.b} against {self.question.a}: {self.question.rubric.strip()}",
            version="1",
            digest=digest([self.question.digest, one.id, other.id]),
            kind=PAIRWISE,
            metrics=self.question.metrics(),
            description=f"Asks a model whether run {other.id} answers better than run {one.id}, in both orders.",
            card={"runs": [one.id, other.id], "rubric": self.question.rubric},
            inputs={"pairs": digest([task.digest() for task in self.chosen]), "characters": str(self.most)},
        )

    async def grade(self, task: Task, episode: Any) -> Sequence[Score]:
        """Return the scores of a pair. One without a verdict is missing, never a tie."""
        del task
        info = episode.terminal_info
        if isinstance(info.get(ANSWER), Mapping):
            return self.question.scored(msgspec.convert(info[ANSWER], PairVerdict))
        return self.question.scored(None, str(info.get(PROBLEM) or "there is no verdict"))


@dataclass(frozen=True, slots=True)
class PairAgent:
    """Asks the model about a pair in both orders, in each once more if its reply does not count.

    Implements core.ports.Agent. `earlier` finds verdicts that need not be asked for again.
    """

    question: PairQuestion
    answers: Answers
    most: int
    earlier: Earlier | None = None

    async def play(self, context: Context) -> None:
        """Judge one pair. Raises EpisodeError."""
        await context.reset()
        if self.earlier is not None and await taken_over(context, self.earlier):
            return
        task, a, b = self.answers(*context.task.input[PAIR])
        await context.step(await self._judge(context, task, a, b))

    async def _judge(self, context: Context, task: str, a: str, b: str) -> dict[str, Any]:
        if a.strip() == b.strip():
            return {ANSWER: msgspec.to_builtins(PairVerdict(TIE, TIE, SAME))}
        found = []
        for first, second in ((a, b), (b, a)):
            try:
                found.append(await self._ask(context, self.question.messages(task, first, second, self.most), (a, b)))
            except ValueError as error:
                return {PROBLEM: str(error)}
            except EpisodeError as error:
                return unread(error)
        (ab, reasoning), (ba, _) = found
        return {ANSWER: msgspec.to_builtins(PairVerdict(ab, ba, reasoning))}

    async def _ask(self, context: Context, messages: list[Message], material: Sequence[str]) -> tuple[str, str]:
        """Return verdict and reasoning. Raises ValueError if the second reply does not count either, EpisodeError."""
        settings = context.settings
        problem = ""
        for _ in range(2):
            request = ModelRequest(
                messages,
                settings.temperature,
                settings.max_tokens,
                settings.top_p,
                schema=self.question.schema() if context.capabilities.structured else None,
                schema_name="verdict",
                timeout_s=settings.timeout_s,
                extra=settings.extra,
            )
            reply = await context.ask(request)
            if reply.finish_reason == "length":
                raise ValueError(CUT_OFF)
            try:
                return self.question.read(reply.text, material)
            except ValueError as error:
                problem = str(error)
            messages = [*messages, *self.question.again(reply.text, problem)]
        raise ValueError(problem)
