"""Build the replay JSON of showcase pages from records in memory. `mesocosm run export` writes that of a stored run."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bench_common.core.run import Episode, Run, TraceEvent
from mesocosm.interop.replay import SCHEMA_VERSION, turns

__all__ = ["build_replay_turns", "build_run_export_dict"]


def build_replay_turns(events: Iterable[TraceEvent | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the turns of an episode from its events, which may be in any order."""
    return turns(_in_order(events))


def build_run_export_dict(
    run: Run,
    episodes: Sequence[Episode],
    traces: Mapping[str, Iterable[TraceEvent | Mapping[str, Any]]],
    *,
    domain_name: str | None = None,
    visibility: str | None = None,
) -> dict[str, Any]:
    """Return the export of a run, schema version 1; `traces` are the events by episode id."""
    events = {episode.id: _in_order(traces.get(episode.id, ())) for episode in episodes}
    return {
        "schema_version": SCHEMA_VERSION,
        "exported_at": datetime.now(UTC).isoformat(),
        "visibility": visibility,
        "domain_id": run.config.domain_id,
        "domain_name": domain_name,
        "binding_vow_version": run.config.binding_vow_version,
        "run": run.model_dump(mode="json"),
        "episodes": [episode.model_dump(mode="json") for episode in episodes],
        "traces": events,
        "replay": {episode_id: turns(found) for episode_id, found in events.items()},
    }


def _in_order(events: Iterable[TraceEvent | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return events as JSON in order of step and time; the sort is stable."""
    read = (event if isinstance(event, TraceEvent) else TraceEvent.model_validate(event) for event in events)
    ordered = sorted(read, key=lambda event: (event.step, event.timestamp))
    return [event.model_dump(mode="json") for event in ordered]
