"""Progress of a run on standard error: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from mesocosm.cli.command import CommonOptions, plural
from mesocosm.cli.render import ROLLOUT, duration, interval, money, number, tokens
from mesocosm.core.episode import SCOREABLE, Episode
from mesocosm.core.failure import Cause
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import Run

MOST_LINES = 100
"""Up to this number of episodes, each gets a line; a longer run prints its state periodically."""
EVERY_S = 10.0
HUMAN = "builtin/human"


@contextmanager
def watcher(chosen: CommonOptions) -> Iterator[Observer]:
    """Yield the observer that fits the terminal and the options."""
    if chosen.quiet:
        yield SilentProgress()
    elif chosen.bare() or not sys.stderr.isatty():
        yield LineProgress()
    else:
        bar = BarProgress()
        try:
            yield bar
        finally:
            bar.stop()


class SilentProgress(Observer):
    """Prints only warnings."""

    def notice(self, message: str) -> None:
        """Pass on warnings."""
        if message.startswith("warning"):
            click.echo(message, err=True)


@dataclass(slots=True)
class _Standing:
    """What was printed about a run: the number of episodes, and the time of the last line."""

    progress: Progress
    shown: int
    at: float


class LineProgress(Observer):
    """One line per episode, as `[i/n] seed=S reward=R.RR  steps=N`, or one line periodically.

    Concurrent runs are counted separately, and their lines begin with the benchmark, or the model if all play the same.
    """

    def __init__(self) -> None:
        self._runs: dict[str, _Standing] = {}

    def notice(self, message: str) -> None:
        """Print a line."""
        click.echo(message, err=True)

    def run_started(self, progress: Progress) -> None:
        """Print what starts."""
        self._runs[progress.run.id] = _Standing(progress, progress.done, time.monotonic())
        click.echo(headline(progress), err=True)

    def episode_finished(self, episode: Episode) -> None:
        """Print the line of an episode."""
        standing = self._runs[episode.run_id]
        standing.shown += 1
        progress = standing.progress
        which = (
            f"{names([one.progress for one in self._runs.values()])[progress.run.id]} " if len(self._runs) > 1 else ""
        )
        if progress.planned <= MOST_LINES:
            unit = "row" if progress.run.kind == ROLLOUT else "task"
            click.echo(f"  {which}[{standing.shown}/{progress.planned}] {episode_line(episode, unit)}", err=True)
        elif time.monotonic() - standing.at >= EVERY_S:
            standing.at = time.monotonic()
            click.echo(f"  {which}{status_line(progress)}", err=True)

    def run_finished(self, run: Run) -> None:
        """Stop printing."""
        self._runs.pop(run.id, None)


class BarProgress(LineProgress):
    """Live bars, one for each current run, redrawn at most four times a second.

    With a human player lines are printed instead: a bar would overwrite the questions.
    """

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self._console = Console(stderr=True)
        self._live: Any = None
        self._bars: dict[str, Progress] = {}

    def notice(self, message: str) -> None:
        """Print a line above the bar."""
        self._console.print(message, markup=False, highlight=False)

    def episode_finished(self, episode: Episode) -> None:
        """Print the line of an episode if no bar shows it."""
        if episode.run_id not in self._bars:
            super().episode_finished(episode)

    def run_started(self, progress: Progress) -> None:
        """Show the bar."""
        from rich.live import Live

        if progress.run.model == HUMAN:
            super().run_started(progress)
            return
        self._bars[progress.run.id] = progress
        self._console.print(headline(progress), markup=False, highlight=False)
        if self._live is None:
            self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=4, transient=True)
            self._live.start()

    def run_finished(self, run: Run) -> None:
        """Remove the run's bar; the result follows."""
        super().run_finished(run)
        if self._bars.keys() <= {run.id}:
            # Stop while the bar still exists, so that the last frame shows the end even of a short run.
            self.stop()
        self._bars.pop(run.id, None)

    def stop(self) -> None:
        """Remove all bars."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self) -> Any:
        shown = tuple(self._bars.values())  # a copy: drawing happens in another thread while runs start and end
        return bars(shown, self._console.width)


def names(runs: Sequence[Progress]) -> dict[str, str]:
    """Return what tells runs apart, by their ids: the benchmark, or the model if all play the same benchmark."""
    several = len({one.run.benchmark for one in runs}) > 1
    return {one.run.id: one.run.benchmark if several else one.run.model for one in runs}


def bars(runs: Sequence[Progress], width: int) -> Any:
    """Return a bar for each run, each on one line of a terminal with `width` columns."""
    from rich.cells import cell_len
    from rich.progress_bar import ProgressBar
    from rich.table import Column, Table
    from rich.text import Text

    bar_width = min(30, max(width // 5, 4))
    named = names(runs) if len(runs) > 1 else {}
    name_width = min(max(map(cell_len, named.values()), default=0), width // 4)
    left = max(width - bar_width - (name_width + 2 if named else 0) - 3, 1)
    columns = [Column(width=bar_width), *([Column(no_wrap=True)] if named else []), Column(no_wrap=True)]
    grid = Table.grid(*columns, padding=(0, 2))
    for run in runs:
        bar = ProgressBar(total=max(run.planned, 1), completed=run.done, width=bar_width)
        cells = [Text(named[run.run.id])] if named else []
        for cell in cells:
            cell.truncate(name_width, overflow="ellipsis")
        line = Text(fitting_line(run, left))
        line.truncate(left, overflow="ellipsis")
        grid.add_row(bar, *cells, line)
    return grid


def headline(progress: Progress) -> str:
    """Return a description of the run that starts."""
    run = progress.run
    rollout = run.kind == ROLLOUT
    done = f", {progress.resumed:,} of them finished before" if progress.resumed else ""
    most = run.info.get("parallel")
    at_once = f"{run.spec.parallel} at a time"
    if most is not None and most < run.spec.parallel:
        says = "the rollout" if rollout else "the environment's manifest"
        unsaid = run.info.get("growing") or run.spec.benchmark.options.get("capped")
        why = "" if unsaid else f", as {says} says"
        at_once = f"{most} at a time{why}"
    episodes = plural(progress.planned, "sample" if rollout else "episode")
    name = (rollout and run.name) or run.id
    return f"Running {run.model} on {run.benchmark} ({episodes}{done}, {at_once})\nrun {name}"


def episode_line(episode: Episode, unit: str = "task") -> str:
    """Return the line of an episode: seed and reward in an environment, task (`unit`) and score in a benchmark.

    A task without its first score shows that instead of another number. Rows have no steps.
    """
    trial = f" trial={episode.trial + 1}" if episode.trial else ""
    seeded = episode.seed is not None and episode.task_id == f"seed-{episode.seed}"
    name = f"seed={episode.seed}" if seeded else f"{unit}={episode.task_id}"
    if episode.status not in SCOREABLE:
        message = episode.failure.message if episode.failure else episode.status
        return f"{name}{trial} FAILED: {message.splitlines()[0][:300]}"
    steps = "" if unit == "row" else f"  steps={episode.steps}"
    first = episode.scores[0] if episode.scores else None
    word = "score" if unit == "row" else first.name if first is not None else ""
    if seeded or first is None:
        return f"{name}{trial} reward={episode.total_reward:.2f}{steps}"
    if first.value is not None:
        return f"{name}{trial} {word}={first.value:.2f}{steps}"
    if first.missing is Cause.SKIPPED:
        return f"{name}{trial} skipped"
    why = f": {first.explanation.splitlines()[0][:300]}" if first.explanation else ""
    if first.worst:
        return f"{name}{trial} FAILED, counts as worst{why}"
    return f"{name}{trial} NO {word.upper()}, {first.missing or 'not scored'}{why}"


def status_line(progress: Progress) -> str:
    """Return done, pending, failed, score so far, calls, tokens, cost, rate and time left on one line."""
    return " · ".join(part for _, part in _parts(progress))


def fitting_line(progress: Progress, width: int) -> str:
    """Return the same in `width` terminal columns, leaving out the least important parts first."""
    from rich.cells import cell_len

    parts = list(_parts(progress))
    while len(parts) > 1 and cell_len(" · ".join(part for _, part in parts)) > width:
        parts.remove(max(parts))
    return " · ".join(part for _, part in parts)


def _parts(progress: Progress) -> Iterator[tuple[int, str]]:
    """Yield the parts of the line, each with its priority (0 is the most important)."""
    yield 0, f"{progress.done:,}/{progress.planned:,}"
    if progress.failed:
        yield 2, f"{progress.failed:,} failed"
    if score := progress.score():
        name = "score" if progress.run.kind == ROLLOUT else score.name
        yield 1, f"{name} {number(score.value)} {interval(score.low, score.high, weak=score.weak)}".rstrip()
    used = progress.usage
    if used.calls:
        yield 6, plural(used.calls, "call")
    if used.total:
        yield 5, f"{tokens(used.total)} tokens"
    if used.cost_usd is None or used.cost_usd:
        yield 4, money(used.cost_usd)
    if progress.retries:
        yield 7, f"{progress.retries:,} retries"
    yield 8, f"{progress.rate:.1f}/s"
    if progress.seconds_left is not None:
        yield 3, f"{duration(progress.seconds_left)} left"
