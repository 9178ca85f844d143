"""Progress of a run on standard error: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from mesocosm.cli.main import Options, plural
from mesocosm.cli.render import cost, duration, interval, money, number, tokens
from mesocosm.core.episode import SCOREABLE, Episode
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import Run

MOST_LINES = 100
"""Up to this many episodes each gets its line; a longer run tells where it stands from time to time."""
EVERY_S = 10.0
HUMAN = "builtin/human"


@contextmanager
def watcher(chosen: Options) -> Iterator[Observer]:
    """Yield the observer that fits the terminal and the options."""
    if chosen.quiet:
        yield Silent()
    elif chosen.bare() or not sys.stderr.isatty():
        yield Lines()
    else:
        bar = Bar()
        try:
            yield bar
        finally:
            bar.stop()


class Silent(Observer):
    """Says nothing but warnings."""

    def notice(self, message: str) -> None:
        """Pass on warnings."""
        if message.startswith("warning"):
            click.echo(message, err=True)


class Lines(Observer):
    """One line per episode, as `[i/n] seed=S reward=R.RR  steps=N`, or one from time to time."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._told = 0
        self._at = 0.0

    def notice(self, message: str) -> None:
        """Print a line."""
        click.echo(message, err=True)

    def run_started(self, progress: Progress) -> None:
        """Say what starts."""
        self._progress = progress
        self._told = progress.done
        self._at = time.monotonic()
        click.echo(headline(progress), err=True)

    def episode_finished(self, episode: Episode) -> None:
        """Print the line of an episode."""
        assert self._progress is not None
        self._told += 1
        if self._progress.planned <= MOST_LINES:
            click.echo(f"  [{self._told}/{self._progress.planned}] {episode_line(episode)}", err=True)
        elif time.monotonic() - self._at >= EVERY_S:
            self._at = time.monotonic()
            click.echo(f"  {status_line(self._progress)}", err=True)


class Bar(Lines):
    """A live bar; it redraws four times a second at most, however fast episodes finish.

    Where a person plays there are lines instead: a bar would draw over the questions.
    """

    def __init__(self) -> None:
        from rich.console import Console

        super().__init__()
        self._console = Console(stderr=True)
        self._live: Any = None

    def notice(self, message: str) -> None:
        """Print a line above the bar."""
        self._console.print(message, markup=False, highlight=False)

    def episode_finished(self, episode: Episode) -> None:
        """Print the line of an episode where there is no bar that shows it."""
        if self._live is None:
            super().episode_finished(episode)

    def run_started(self, progress: Progress) -> None:
        """Show the bar."""
        from rich.live import Live

        if progress.run.model == HUMAN:
            super().run_started(progress)
            return
        self._progress = progress
        self._console.print(headline(progress), markup=False, highlight=False)
        self._live = Live(get_renderable=self._draw, console=self._console, refresh_per_second=4, transient=True)
        self._live.start()

    def run_finished(self, run: Run) -> None:
        """Take the bar away; the result follows."""
        self.stop()

    def stop(self) -> None:
        """Take the bar away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _draw(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        progress = self._progress
        assert progress is not None
        grid = Table.grid(padding=(0, 2))
        grid.add_row(
            ProgressBar(total=max(progress.planned, 1), completed=progress.done, width=30),
            Text(status_line(progress)),
        )
        return grid


def headline(progress: Progress) -> str:
    """Return what is about to run."""
    run = progress.run
    done = f", {progress.resumed:,} of them finished before" if progress.resumed else ""
    most = run.info.get("parallel")
    at_once = f"{run.spec.parallel} at a time"
    if most is not None and most < run.spec.parallel:
        at_once = f"{most} at a time, as the environment's parallel_episodes says"
    episodes = plural(progress.planned, "episode")
    return f"Running {run.model} on {run.benchmark} ({episodes}{done}, {at_once})\nrun {run.id}"


def episode_line(episode: Episode) -> str:
    """Return the line of an episode: by seed and reward in an environment, by task and score in a benchmark."""
    trial = f" trial={episode.trial}" if episode.trial else ""
    seeded = episode.seed is not None and episode.task_id == f"seed-{episode.seed}"
    name = f"seed={episode.seed}" if seeded else f"task={episode.task_id}"
    if episode.status in SCOREABLE:
        score = next((score for score in episode.scores if score.value is not None), None)
        if not seeded and score is not None:
            return f"{name}{trial} {score.name}={score.value:.2f}  steps={episode.steps}"
        return f"{name}{trial} reward={episode.total_reward:.2f}  steps={episode.steps}"
    message = episode.failure.message if episode.failure else episode.status
    return f"{name}{trial} FAILED: {message.splitlines()[0][:300]}"


def status_line(progress: Progress) -> str:
    """Return done, owed, failed, score so far, tokens, cost, rate and time left on one line."""
    parts = [f"{progress.done:,}/{progress.planned:,}"]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if score := progress.score():
        parts.append(f"{score.name} {number(score.value)} {interval(score.low, score.high)}")
    if progress.usage.total:
        parts.append(f"{tokens(progress.usage.total)} tokens")
    if cost(progress.usage) is None or progress.usage.cost_usd:
        parts.append(money(cost(progress.usage)))
    if progress.retries:
        parts.append(f"{progress.retries:,} retries")
    parts.append(f"{progress.rate:.1f}/s")
    if progress.seconds_left is not None:
        parts.append(f"{duration(progress.seconds_left)} left")
    return " · ".join(parts)
