"""The link to the live page of a run: of a running viewer, or of one that is started in the background."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.api.viewing import HOST, IDLE_MINUTES, PORT, RunningViewer, noted, open_browser, running, start
from mesocosm.core.ports import Observer, Progress

if TYPE_CHECKING:
    from mesocosm.cli.command import CommonOptions
    from mesocosm.store import Store

__all__ = [
    "HOST",
    "PORT",
    "RunningViewer",
    "ViewerLink",
    "noted",
    "open_browser",
    "page",
    "place_name",
    "running",
    "wanted",
]

BROWSER_S = 5.0
"""Seconds that a program which ends immediately gives a browser to load the page."""
OFF = "MESOCOSM_NO_VIEW"
"""Variable that prevents runs from starting a viewer."""


def place_name(store: "Store") -> str:
    """Return a name of a store by which two programs can tell that they use the same one."""
    return store.place if "://" in store.place else str(Path(store.place).resolve())


def page(path: str, store: "Store", chosen: "CommonOptions", otherwise: str = "") -> str:
    """Return the address of a page if a viewer is running, otherwise the command that starts one."""
    viewer = running(chosen.results(), place_name(store))
    # The viewer that this command has started may not have noted yet where it is.
    url = chosen.viewer if viewer is None else viewer.url
    return f"{url}{path}" if url else f"mesocosm view    {otherwise or f'and open {path}'}"


def wanted(chosen: "CommonOptions") -> bool:
    """Return whether to start a viewer for a run: on request, or by default on a terminal."""
    if chosen.view is not None:
        return chosen.view
    return sys.stderr.isatty() and not (chosen.quiet or os.environ.get("CI") or os.environ.get(OFF))


@dataclass
class ViewerLink(Observer):
    """Prints where a run can be watched, once it has started. Errors here never stop the run.

    `path` is that of the page, by default the run's own.
    """

    chosen: "CommonOptions"
    store: "Store"
    watcher: Observer
    path: str = ""

    def run_started(self, progress: Progress) -> None:
        """Print the link, starting a viewer if needed."""
        if self.chosen.view is False or (self.chosen.quiet and not self.chosen.view):
            return
        name = place_name(self.store)
        viewer = running(self.chosen.results(), name)
        url = self.chosen.viewer if viewer is None else viewer.url
        started = not url and wanted(self.chosen)
        if started:
            try:
                url = self.chosen.viewer = start(self.chosen.results(), self.chosen.database())
            except OSError as error:
                self._say(f"no viewer could be started ({error}); mesocosm view")
                return
        if not url:
            self._say("look at it in the browser: mesocosm view")
            return
        page = url + (self.path or f"/runs/{progress.run.id}")
        self._say(f"watch it live: {page}")
        if started:
            self._say(f"(a viewer in the background; it ends after {IDLE_MINUTES} minutes without a visitor)")
        if self.chosen.opens:
            open_browser(page)

    def _say(self, text: str) -> None:
        if self.chosen.quiet:
            click.echo(text, err=True)
        else:
            self.watcher.notice(text)
