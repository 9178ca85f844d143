"""The progress of one or several runs: a bar on a terminal, one line that changes in a notebook, else nothing."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mesocosm.core.episode import Episode
from mesocosm.core.ports import Observer, Progress

EVERY_S = 0.2
"""Seconds between two drawings."""


@contextmanager
def progress_display(wanted: bool | Callable[[Progress], None] | None) -> Iterator[Sequence[Observer]]:
    """Yield what shows the progress of all runs that it observes, if wanted: by default on a terminal or in a notebook.

    It is shown until the end of the block.
    """
    if callable(wanted) or wanted is False:
        yield ()
    elif _in_notebook():
        yield (_Notebook(),)
    elif wanted or sys.stderr.isatty():
        display = _Bar()
        try:
            yield (display,)
        finally:
            display.close()
    else:
        yield ()


def line_of(*runs: Progress) -> str:
    """Return the progress of runs together as one line: `31/40   0.84 [0.68, 0.93]  $0.02  4 s left`."""
    done, planned = counted(runs)
    parts = [f"{done:,}/{planned:,}"]
    score = runs[0].score() if len(runs) == 1 else None
    if score is not None and score.value is not None:
        interval = "" if score.low is None or score.high is None else f" [{score.low:.2f}, {score.high:.2f}]"
        interval += " weak" * (bool(interval) and score.weak)
        parts.append(f" {score.value:.2f}{interval}")
    cost = sum(run.usage.cost_usd or 0.0 for run in runs)
    if cost:
        parts.append(f"${cost:.2f}")
    left = [run.seconds_left for run in runs if run.done < run.planned]
    known = [seconds for seconds in left if seconds is not None]
    if known and len(known) == len(left):
        parts.append(f"{max(known):.0f} s left")
    return "  ".join(parts)


def counted(runs: Sequence[Progress]) -> tuple[int, int]:
    """Return how many episodes of all runs are done, and how many are planned."""
    return sum(run.done for run in runs), sum(run.planned for run in runs)


class _Display(Observer, ABC):
    """Shows one line for all runs, at most every `EVERY_S` and at the end."""

    def __init__(self) -> None:
        self._runs: list[Progress] = []
        self._drawn = 0.0

    def run_started(self, progress: Progress) -> None:
        self._runs.append(progress)
        self._draw()

    def episode_finished(self, episode: Episode) -> None:
        del episode
        # The score is computed from the store, so not for each of many episodes.
        now = time.monotonic()
        done, planned = counted(self._runs)
        if now - self._drawn >= EVERY_S or done >= planned:
            self._drawn = now
            self._draw()

    @abstractmethod
    def _draw(self) -> None:
        """Show the line as it is now."""


class _Bar(_Display):
    def __init__(self) -> None:
        super().__init__()
        self._bar: Any = None
        self._task: Any = None

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[line]}"))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)
            self._bar.start()
            self._task = self._bar.add_task(self._runs[0].run.benchmark, line="")
        done, planned = counted(self._runs)
        self._bar.update(self._task, completed=done, total=planned, line=line_of(*self._runs))


class _Notebook(_Display):
    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None

    def _draw(self) -> None:
        line = {"text/plain": line_of(*self._runs)}
        if self._handle is None:
            from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

            self._handle = display(line, raw=True, display_id=True)
        else:
            self._handle.update(line, raw=True)


def _in_notebook() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
