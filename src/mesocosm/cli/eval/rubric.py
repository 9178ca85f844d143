"""`mesocosm eval rubric`: judge the answers in a file by a rubric."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import FiniteFloat, MesocosmCommand, options
from mesocosm.core.model import MAX_TOKENS

if TYPE_CHECKING:
    from mesocosm.core.ports import Model
    from mesocosm.datasets.table import DataTable
    from mesocosm.rollouts.graders.judge import JudgeConfig

ANSWERS = ("solution_str", "answer", "output", "response", "completion", "text")
TASKS = ("original_input", "user_prompt", "prompt", "question", "input")
REFERENCES = ("ground_truth", "label", "reference")
_AT_ONCE = 8
_TRIES = 3
_NAMED = 10
NONE_JUDGED, SOME_FAILED = 1, 3


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """One row: its scores on the rubric's scale, one for each time it was judged, or why it has none."""

    row: int
    scores: tuple[float, ...] = ()
    explanation: str = ""
    error: str = ""


@click.command(cls=MesocosmCommand)
@click.option("-d", "--data", required=True, help="CSV, JSONL, JSON or Parquet with answers, or a dataset of the hub.")
@click.option("-r", "--rubric", "text", required=True, metavar="TEXT|@FILE", help="Criteria of a good answer.")
@click.option("--model", required=True, help="The judge, as provider/name.")
@click.option("-n", "--number", type=click.IntRange(1, 100), default=1, help="How often each row is judged [1].")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write each row's scores (JSONL)."
)
@click.option("--timeout", type=FiniteFloat(1, 3600), default=60.0, help="Seconds for one call of the judge [60].")
@click.option("--score-min", type=FiniteFloat(), default=0.0, help="The lowest score of the scale [0].")
@click.option("--score-max", type=FiniteFloat(), default=1.0, help="The highest score of the scale [1].")
def rubric(
    data: str,
    text: str,
    model: str,
    number: int,
    output: Path | None,
    timeout: float,
    score_min: float,
    score_max: float,
) -> int:
    """Judge the answers of a file by a rubric and show average, variance, deviation, lowest and highest score.

    The answer of a row is its first column of solution_str, answer, output, response, completion, text; question and
    reference are shown to the judge if the row has them. Exit code 3 if some rows could not be judged, 1 if none could.

    \b
    mesocosm eval rubric -d answers.jsonl -r @rubric.md --model openai/gpt-4.1-mini --score-max 10
    """
    from mesocosm.core.failure import UsageError
    from mesocosm.datasets.opening import open_table
    from mesocosm.rollouts.graders.judge import JudgeConfig

    if score_min >= score_max:
        raise UsageError(f"--score-min {score_min:g} is not below --score-max {score_max:g}")
    # At temperature 0 all opinions would be the same.
    temperature = 0.0 if number == 1 else 1.0
    config = JudgeConfig(rubric=read_rubric(text), score_min=score_min, score_max=score_max, temperature=temperature)
    table = open_table(data)
    if not set(ANSWERS) & set(table.columns):
        raise UsageError(
            f"{table.name} has none of the columns {', '.join(ANSWERS)}; it has {', '.join(table.columns)}"
        )
    found = asyncio.run(_judge(table, config, model, number, timeout))
    if output is not None:
        _write(output, found)
    _show(table, found, number, model)
    failed = sum(bool(judged.error) for judged in found)
    return NONE_JUDGED if failed == len(found) else SOME_FAILED if failed else 0


def read_rubric(text: str) -> str:
    """Return a rubric, read from the file that `@` names. Raises UsageError."""
    from mesocosm.core.failure import UsageError

    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the rubric {text[1:]} cannot be read: {error}") from None
    if not text.strip():
        raise UsageError("the rubric is empty; describe what makes an answer good")
    return text


class _Asked:
    """A model as a judge; failed calls are retried if a retry may succeed, and end where none ever will."""

    def __init__(self, model: "Model", seconds: float) -> None:
        self._model = model
        self._seconds = seconds
        self._useless: Exception | None = None

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        /,
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 1024,
    ) -> str:
        """Return the reply. Raises EpisodeError."""
        from mesocosm.core.failure import EpisodeError
        from mesocosm.core.message import Message
        from mesocosm.core.model import ModelRequest

        said = [Message(message["role"], str(message["content"])) for message in messages]
        request = ModelRequest(
            said,
            temperature=temperature or 0.0,
            max_tokens=max_tokens or MAX_TOKENS,
            schema=schema,
            schema_name="verdict",
            timeout_s=self._seconds,
        )
        for number in range(1, _TRIES + 1):
            if self._useless is not None:
                raise self._useless
            try:
                return (await self._model.ask(request)).text
            except EpisodeError as error:
                if error.rule.fatal:
                    self._useless = error
                if number == _TRIES or not error.rule.retried:
                    raise
                await asyncio.sleep(min(error.retry_after or 0.5 * 2**number, 30.0))
        raise AssertionError


async def _judge(table: "DataTable", config: "JudgeConfig", name: str, number: int, seconds: float) -> list[JudgedRow]:
    """Return every row judged, in order; a limited number of rows is judged at once."""
    from mesocosm.core.model import ModelSettings
    from mesocosm.core.registry import MODELS

    model: Model = MODELS.get("*")(ModelSettings(name, max_tokens=config.max_tokens, timeout_s=seconds))
    turn, judge = asyncio.Semaphore(_AT_ONCE), _Asked(model, seconds)

    async def one(index: int) -> JudgedRow:
        async with turn:
            return await _row(index, table.rows[index], config, judge, number)

    try:
        await model.check()
        return list(await asyncio.gather(*map(one, range(len(table.rows)))))
    finally:
        await model.close()


async def _row(index: int, row: Mapping[str, Any], config: "JudgeConfig", judge: _Asked, number: int) -> JudgedRow:
    from mesocosm.core.failure import MesocosmError
    from mesocosm.rollouts.graders.judge import JudgeReplyError, JudgeRule

    answer = _column(row, ANSWERS)
    if not answer.strip():
        return JudgedRow(index, error=f"the row has no answer in {', '.join(ANSWERS)}")
    reference, task, scores, words = _column(row, REFERENCES), _column(row, TASKS), [], ""
    try:
        for _ in range(number):
            verdict = await JudgeRule(config).grade(answer, reference or None, judge=judge, task=task)
            scores.append(config.score_min + verdict.value * (config.score_max - config.score_min))
            words = words or verdict.explanation
    except (MesocosmError, JudgeReplyError) as error:
        return JudgedRow(index, tuple(scores), words, str(error))
    return JudgedRow(index, tuple(scores), words)


def _column(row: Mapping[str, Any], names: Sequence[str]) -> str:
    import json

    for name in names:
        if (value := row.get(name)) not in (None, ""):
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return ""


def _statistics(found: Sequence[JudgedRow]) -> dict[str, float | None]:
    """Return statistics of the rows' mean scores; variance and deviation are those of a sample, None for one row."""
    import statistics

    means = [statistics.fmean(judged.scores) for judged in found if not judged.error]
    several = len(means) > 1
    return {
        "average": statistics.fmean(means) if means else None,
        "variance": statistics.variance(means) if several else None,
        "stdev": statistics.stdev(means) if several else None,
        "min": min(means, default=None),
        "max": max(means, default=None),
    }


def _show(table: "DataTable", found: Sequence[JudgedRow], number: int, model: str) -> None:
    from mesocosm.cli.command import plural
    from mesocosm.cli.render import emit
    from mesocosm.cli.render import number as spelled

    numbers = _statistics(found)
    failed = [judged for judged in found if judged.error]
    if options().json:
        rows = [_document(judged) for judged in found]
        counts = {"rows": len(found), "judged": len(found) - len(failed), "failed": len(failed), "number": number}
        emit({"data": table.name, "model": model, **counts, "statistics": numbers, "results": rows})
        return
    times = f", {number} times each" if number > 1 else ""
    click.echo(f"{len(found) - len(failed):,} of {plural(len(found), 'row')} judged by {model}{times}\n")
    for name, value in numbers.items():
        click.echo(f"  {name:<9} {spelled(value)}")
    for judged in failed[:_NAMED]:
        click.echo(f"warning: {table.where(judged.row)}: {judged.error}", err=True)
    if len(failed) > _NAMED:
        click.echo(f"warning: and {len(failed) - _NAMED:,} more rows", err=True)


def _document(judged: JudgedRow) -> dict[str, Any]:
    mean = sum(judged.scores) / len(judged.scores) if judged.scores and not judged.error else None
    return {
        "row": judged.row,
        "score": mean,
        "scores": judged.scores,
        "explanation": judged.explanation,
        "error": judged.error or None,
    }


def _write(path: Path, found: Sequence[JudgedRow]) -> None:
    import msgspec

    from mesocosm.interop.files import replacing

    with replacing(path) as file:
        file.writelines(msgspec.json.encode(_document(judged)) + b"\n" for judged in found)
