"""The log of a run, as the `osmosis` command line prints it and as it downloads it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from mesocosm.core.episode import FINISHED
from mesocosm.interop.download import log_lines
from mesocosm.interop.older_index import record
from mesocosm.interop.samples import SampleRules
from mesocosm.server.permissions.owned_runs import OwnedRun
from mesocosm.server.permissions.visible_runs import VisibleRun

_LEVELS = {"state": "info", "warning": "warning", "error": "error"}


def log_entries(run: OwnedRun) -> Iterator[dict[str, Any]]:
    """Yield what happened in a run, oldest first."""
    at: datetime | None = None
    for line in run.log().lines:
        at = line.at or at
        yield entry(at, _LEVELS[line.kind], "run", line.text)


def entry(at: datetime | None, level: str, step: str, message: str) -> dict[str, Any]:
    """Return one entry."""
    stamp = "" if at is None else at.isoformat(timespec="milliseconds")
    return {"timestamp": stamp, "level": level, "step": step, "message": message, "details": None}


def run_lines(run: VisibleRun) -> Iterator[str]:
    """Yield the lines of logs.txt: the run, then its finished samples in the order of the plan."""
    rules = SampleRules.of(run.record)
    for text in (*run.record.warnings, run.record.error):
        if text:
            yield text
    for episode in run.all_episodes():
        if episode.status in FINISHED:
            found = record(run.record, episode, rules)
            yield f"== row {found.row_index} run {found.run_index} {found.status} ({found.rollout_id})"
            yield from log_lines(run.events(episode.id))
            if found.error_type:
                yield f"{found.error_type}: {found.error or ''}"
            yield ""
