"""Graders: functions, ready-made ones by name, classes; each gives one score with its own name."""

import asyncio
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from mesocosm.api.calling import Overdue, Raised, called
from mesocosm.api.code import code_identity, parameters
from mesocosm.api.prompts import read_message
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import JudgeModel
from mesocosm.core.reading import nearest
from mesocosm.core.registry import import_reference
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task

GRADER_SECONDS = 150.0
OFFERED = ("row", "messages", "input", "judge")
"""What a grader function may take besides the answer and the expected answer, by name."""


GraderLike = str | type[Any] | Callable[..., Any]
"""A name, a Grader class, or a function of the answer, the expected answer and what it names of `OFFERED`."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What is graded: the answer, the messages of the conversation, the filled prompt."""

    answer: Any
    messages: Sequence[Mapping[str, Any]] = ()
    input: Any = None


@dataclass(frozen=True, slots=True)
class AskingJudge:
    """The model that graders ask. Implements the protocol of ready-made judges."""

    judge: JudgeModel
    loop: asyncio.AbstractEventLoop
    """The loop that the model answers on; graders run on another one."""

    async def ask(
        self,
        question: str | Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 1024,
    ) -> str:
        """Return the text of the reply to a question or to messages. Raises EpisodeError."""
        given = [{"role": "user", "content": question}] if isinstance(question, str) else question
        settings = self.judge.settings
        request = ModelRequest(
            [read_message(one) for one in given],
            settings.temperature if temperature is None else temperature,
            settings.max_tokens if max_tokens is None else max_tokens,
            settings.top_p,
            schema=schema,
            schema_name="answer",
            timeout_s=settings.timeout_s,
            extra=settings.extra,
        )
        if asyncio.get_running_loop() is self.loop:
            return (await self.judge.ask(request)).text
        asked = asyncio.run_coroutine_threadsafe(self.judge.ask(request), self.loop)
        return (await asyncio.wrap_future(asked)).text


Grade = Callable[[Answered, Task, AskingJudge], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class BoundGrader:
    """A grader with the name of its score; `identity` says what it does, `asks` whether it may ask a judge."""

    name: str
    grade: Grade
    identity: Any
    asks: bool = False
    unread: tuple[str, ...] = ()
    reference: str = ""
    """How to name it in a stored run; empty if it is an object of this process."""
    ready: bool = False
    """Whether all further scores begin with its name and a dot, as those of ready-made graders do."""


def bind(given: GraderLike | Sequence[GraderLike] | Mapping[str, GraderLike] | None) -> tuple[BoundGrader, ...]:
    """Return graders by the names of their scores, the first one ranks. Raises UsageError for what is no grader."""
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple(_bind(one, str(name)) for name, one in given.items())
    if isinstance(given, Sequence) and not isinstance(given, str):
        bound = [_bind(one, "") for one in given]
    else:
        bound = [_bind(given, "")]
    names = [one.name for one in bound]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"two graders are called {twice!r}; pass a mapping from name to grader")
    return tuple(bound)


def metrics_of(graders: Sequence[BoundGrader]) -> tuple[Metric, ...]:
    """Return one metric for each grader: the mean of scores from 0 to 1, more is better; the first one ranks."""
    return tuple(
        Metric(grader.name, grader.name, low=0.0, high=1.0, primary=not place) for place, grader in enumerate(graders)
    )


async def grade(graders: Sequence[BoundGrader], answered: Answered, task: Task, judge: JudgeModel) -> list[Score]:
    """Return the scores of all graders; one that fails leaves its own score missing, with the cause."""
    found: list[Score] = []
    asking = AskingJudge(judge, asyncio.get_running_loop())
    for grader in graders:
        try:
            found += _scores(grader.name, await grader.grade(answered, task, asking))
        except Overdue:
            why = f"grader {grader.name} did not return within {GRADER_SECONDS:g} s"
            found.append(Score(grader.name, missing=Cause.GRADER_TIMEOUT, explanation=why))
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - foreign code; the score is missing with this cause
            error = raised.error if isinstance(raised, Raised) else raised
            if isinstance(error, EpisodeError):
                found.append(Score(grader.name, missing=error.cause, explanation=str(error)))
                continue
            frames = "".join(traceback.format_exception(error, limit=-6))
            why = f"grader {grader.name} raised {type(error).__name__}: {error}\n{frames}"
            found.append(Score(grader.name, missing=Cause.GRADER_ERROR, explanation=why))
    return found


def _scores(name: str, result: Any) -> list[Score]:
    """Return what a grader returned as scores. Raises TypeError, ValueError for what is no score."""
    if result is None:
        raise ValueError("it returned None; is a `return` missing?")
    if isinstance(result, Score):
        return [msgspec.structs.replace(result, name=name)]
    if isinstance(result, tuple) and len(result) == 2:
        return [Score(name, _number(result[0]), explanation=str(result[1]))]
    if isinstance(result, Mapping):
        if "score" not in result:
            raise ValueError(f"it returned a mapping without 'score': {', '.join(map(str, result))}")
        said = str(result.get("explanation", ""))
        rest = [(str(key), value) for key, value in result.items() if key not in {"score", "explanation"}]
        if any(key == name for key, _ in rest):
            raise ValueError(f"it returned a mapping with {name!r}, which is the name of its score; call that 'score'")
        return [
            Score(name, _number(result["score"]), explanation=said),
            *(Score(key, _number(value)) for key, value in rest),
        ]
    return [Score(name, _number(result))]


def _number(value: Any) -> float:
    if hasattr(value, "item"):  # NumPy scalars
        value = value.item()
    if isinstance(value, bool | int | float):
        return float(value)
    raise TypeError(f"it returned {type(value).__name__}; a score is a bool or a number")


def _bind(given: Any, name: str) -> BoundGrader:
    if isinstance(given, BoundGrader):
        return replace(given, name=name) if name else given
    if isinstance(given, str):
        if ":" in given:
            place = given.rpartition(":")[0]
            found = import_reference(
                str(Path(place).resolve()) + given[len(place) :] if place.endswith(".py") else given
            )
            return replace(_bind(found, name), reference=given)
        from mesocosm.rollouts.graders.catalogue import open_grader

        return replace(_ready(open_grader(given, {}), name or given.replace("-", "_")), reference=given)
    from mesocosm.rollouts.sdk import Grader

    if isinstance(given, type) and issubclass(given, Grader):
        given = given()
    if isinstance(given, Grader):
        return _of_class(given, name)
    if callable(given):
        return _function(given, name)
    raise UsageError(f"{given!r:.80} is no grader; pass a name, a function, or a Grader")


def _function(function: Callable[..., Any], name: str) -> BoundGrader:
    known = parameters(function)
    label = name or getattr(function, "__name__", type(function).__name__)
    label = "score" if label == "<lambda>" else label
    plain = [one for one in known.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in plain):
        plain = [one for one in plain if one.kind is not inspect.Parameter.VAR_POSITIONAL]
        first: list[inspect.Parameter] = []
    else:
        first = [one for one in plain[:2] if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    if len(first) == 0 and not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in known.values()):
        raise UsageError(
            f"grader {label} takes no answer; its first parameter is the answer, its second the expected one"
        )
    further = [one for one in plain if one not in first]
    for one in further:
        if one.name not in OFFERED and one.default is inspect.Parameter.empty:
            near = nearest(one.name, OFFERED)
            hint = f"; did you mean {near!r}?" if near else ""
            raise UsageError(
                f"grader {label} has a parameter {one.name!r}; after the answer and the expected one there are "
                f"{', '.join(OFFERED)}{hint}"
            )
    chosen = [one.name for one in further if one.name in OFFERED]
    single = len(first) == 1

    def call(answered: Answered, task: Task, judge: AskingJudge) -> Awaitable[Any]:
        offered = {"row": task.input, "messages": answered.messages, "input": answered.input, "judge": judge}
        arguments = (answered.answer,) if single else (answered.answer, task.target)
        named = {key: offered[key] for key in chosen}
        return called(function, *arguments, seconds=GRADER_SECONDS, **named)

    code = code_identity(function)
    return BoundGrader(label, call, ["function", code.digest], "judge" in chosen, code.unread)


def _ready(grader: Any, name: str) -> BoundGrader:
    """Bind a ready-made grader: its rule needs no sample."""
    from mesocosm.rollouts.graders.answer import answer_text
    from mesocosm.rollouts.graders.judge import JudgeGrader, JudgeRule
    from mesocosm.rollouts.graders.ready import GraderVerdict, RuleGrader

    if lacking := grader.lacking():
        raise UsageError(lacking)

    async def call(answered: Answered, task: Task, judge: AskingJudge) -> Any:
        reply = answered.answer if isinstance(answered.answer, str) else answer_text(answered.messages)
        label = _text(task.target)
        facts = dict(task.input) if isinstance(task.input, Mapping) else None
        if isinstance(grader, JudgeGrader):
            asked = _text(answered.input) or ""
            verdict: GraderVerdict = await JudgeRule(grader.options).grade(reply, label, facts, judge=judge, task=asked)
        elif isinstance(grader, RuleGrader):
            rule = grader.rule()
            verdict = (
                await called(rule.grade, reply, label, facts, seconds=GRADER_SECONDS)
                if grader.slow or grader.options.pattern
                else rule.grade(reply, label, facts)
            )
        else:
            raise TypeError(f"{type(grader).__name__} has no rule")
        more = {f"{name}.{key}": value for key, value in verdict.scores.items()}
        return {"score": verdict.value, "explanation": verdict.explanation, **more}

    options = grader.options.model_dump(mode="json", exclude={"concurrency"})
    return BoundGrader(name, call, [type(grader).__name__, options], isinstance(grader, JudgeGrader), ready=True)


def _of_class(grader: Any, name: str) -> BoundGrader:
    """Bind an instance of a Grader class; ready-made ones by their rule, others through a context with one sample."""
    from mesocosm.rollouts.graders.ready import ReadyGrader

    label = name or type(grader).__name__.removesuffix("Grader").lower() or "score"
    if isinstance(grader, ReadyGrader):
        return _ready(grader, label)
    from mesocosm.rollouts.sdk.context import GraderContext
    from mesocosm.rollouts.sdk.sample import RolloutSample

    async def call(answered: Answered, task: Task, judge: AskingJudge) -> Any:
        sample = RolloutSample(messages=[dict(one) for one in answered.messages])
        context = GraderContext(_text(task.target), sample, metadata=dict(task.input), judge=cast(Any, judge))
        await called(grader.grade, context, seconds=GRADER_SECONDS)
        graded = context.sample or sample
        if graded.remove_sample:
            return Score(label, missing=Cause.SKIPPED)
        if graded.reward is None:
            raise ValueError("it set no reward; call ctx.set_reward(…)")
        return {"score": graded.reward, **graded.metrics}

    code = code_identity(type(grader))
    return BoundGrader(label, call, ["class", code.digest], asks=True, unread=code.unread)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
