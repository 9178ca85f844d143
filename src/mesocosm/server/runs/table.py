"""Episodes as CSV, for spreadsheets and data frames."""

import csv
import io
from collections.abc import Iterator, Sequence

from mesocosm.core.episode import Episode
from mesocosm.interop.cell import harmless
from mesocosm.interop.record import moment
from mesocosm.server.permissions.visible_runs import VisibleRun

COLUMNS = (
    *("index", "episode", "task", "trial", "seed", "status"),
    *("total_reward", "steps", "prompt_tokens", "completion_tokens", "cost_usd", "model_calls", "retries"),
    *("started_at", "ended_at", "duration_s", "failure_cause", "failure"),
)
_LINES = 200

Cell = str | int | float | None


def episode_lines(run: VisibleRun) -> Iterator[bytes]:
    """Yield a header and a line for each episode of a run, in the order of its plan, with a column for every score."""
    names = list(dict.fromkeys(str(metric.get("score", "")) for metric in run.record.info.get("metrics", [])))
    head = (*COLUMNS[:6], *(f"score.{name}" for name in names), *COLUMNS[6:])
    waiting: list[Sequence[Cell]] = [head]
    for episode in run.all_episodes():
        waiting.append(_line(episode, names))
        if len(waiting) >= _LINES:
            yield _text(waiting)
            waiting = []
    if waiting:
        yield _text(waiting)


def _line(episode: Episode, names: Sequence[str]) -> list[Cell]:
    scores = {score.name: score.value for score in episode.scores}
    failure, usage = episode.failure, episode.usage
    return [
        *(episode.index, episode.id, episode.task_id, episode.trial, episode.seed, str(episode.status)),
        *(scores.get(name) for name in names),
        *(episode.total_reward, episode.steps, usage.prompt, usage.completion, usage.cost_usd, usage.calls),
        episode.retries,
        *(moment(episode.started_at), moment(episode.ended_at)),
        None if episode.ended_at is None else round(episode.ended_at - episode.started_at, 6),
        None if failure is None else str(failure.cause),
        None if failure is None else failure.message,
    ]


def _text(lines: Sequence[Sequence[Cell]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    for line in lines:
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in line])
    return buffer.getvalue().encode("utf-8", "replace")
