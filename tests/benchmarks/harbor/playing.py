"""Play task folders in containers without images, and look at what was recorded."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesocosm.core.event import Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import Store

HERE = Path(__file__).parent
TASKS, ODD = HERE / "tasks", HERE / "odd"


async def played(store: Store, folder: Path, agent: str, model: str = "builtin/empty", **options: Any) -> Run:
    """Play a folder with these options of the benchmark, and `limits` of the run; return the run."""
    limits: Limits = options.pop("limits", Limits())
    spec = RunSpec(
        BenchmarkRef("harbor", str(folder), {"engine": "bubblewrap", "agent": agent, **options}),
        ModelSettings(model),
        AgentSettings("program"),
        Selection(),
        limits=limits,
        parallel=4,
    )
    return await session.run(spec, store)


def episodes(store: Store, run: Run) -> Mapping[str, Any]:
    """Return the episodes of a run by task."""
    return {episode.task_id: episode for episode in store.episodes.at(run.id, 0, 100)}


def rewards(store: Store, run: Run) -> dict[str, float | str]:
    """Return by task what was earned, or the cause why nothing is known."""
    found: dict[str, float | str] = {}
    for name, episode in episodes(store, run).items():
        (score,) = (one for one in episode.scores if one.name == "reward")
        found[name] = score.value if score.value is not None else "worst" if score.worst else str(score.missing)
    return found


def said(store: Store, run: Run, task: str, stream: str = "") -> list[str]:
    """Return what the trace of a task says of commands, of all streams or one."""
    events = store.traces.events(episodes(store, run)[task].id)
    logs = [event.payload for event in events if event.kind is Kind.LOG]
    return [log["message"] for log in logs if not stream or log.get("stream") == stream]


def trace(store: Store, run: Run, task: str) -> str:
    """Return everything that is recorded of a task, as text."""
    found = [str(event.payload) for event in store.traces.events(episodes(store, run)[task].id)]
    return "\n".join([*found, json.dumps(episodes(store, run)[task].terminal_info)])
