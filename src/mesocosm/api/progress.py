"""The progress of a run: a bar on a terminal, one line that changes in a notebook, nothing elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mesocosm.core.episode import Episode
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import Run

EVERY_S = 0.2
"""Seconds between two drawings."""


@contextmanager
def progress_display(wanted: bool | Callable[[Progress], None] | None) -> Iterator[Observer | None]:
    """Yield an observer that shows progress, if it is wanted: by default on a terminal and in a notebook."""
    if callable(wanted) or wanted is False:
        yield None
    elif _in_notebook():
        yield _Notebook()
    elif wanted or sys.stderr.isatty():
        display = _Bar()
        try:
            yield display
        finally:
            display.close()
    else:
        yield None


def line_of(progress: Progress) -> str:
    """Return the progress of a run as one line: `31/40   0.84 [0.68, 0.93]  $0.02  4 s left`."""
    parts = [f"{progress.done:,}/{progress.planned:,}"]
    score = progress.score()
    if score is not None and score.value is not None:
        interval = "" if score.low is None or score.high is None else f" [{score.low:.2f}, {score.high:.2f}]"
        parts.append(f" {score.value:.2f}{interval}")
    cost = progress.usage.cost_usd
    if cost:
        parts.append(f"${cost:.2f}")
    left = progress.seconds_left
    if left is not None and progress.done < progress.planned:
        parts.append(f"{left:.0f} s left")
    return "  ".join(parts)


class _Bar(Observer):
    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._drawn = 0.0
        self._progress: Progress | None = None

    def run_started(self, progress: Progress) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self._progress = progress
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[line]}"))
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
        self._bar.start()
        self._task = self._bar.add_task(progress.run.benchmark, total=progress.planned, line="")
        self._draw()

    def episode_finished(self, episode: Episode) -> None:
        del episode
        self._draw()

    def run_finished(self, run: Run) -> None:
        del run
        self.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self) -> None:
        # The score is computed from the store, so not for each of many episodes.
        now = time.monotonic()
        last = self._progress is not None and self._progress.done >= self._progress.planned
        if now - self._drawn < EVERY_S and not last:
            return
        self._drawn = now
        if self._bar is not None and self._progress is not None:
            self._bar.update(self._task, completed=self._progress.done, line=line_of(self._progress))


class _Notebook(Observer):
    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn = 0.0
        self._progress: Progress | None = None

    def run_started(self, progress: Progress) -> None:
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        self._progress = progress
        self._handle = display({"text/plain": line_of(progress)}, raw=True, display_id=True)

    def episode_finished(self, episode: Episode) -> None:
        del episode
        now = time.monotonic()
        over = self._progress is not None and self._progress.done >= self._progress.planned
        if now - self._drawn < EVERY_S and not over:
            return
        self._drawn = now
        if self._handle is not None and self._progress is not None:
            self._handle.update({"text/plain": line_of(self._progress)}, raw=True)


def _in_notebook() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
