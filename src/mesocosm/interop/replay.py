"""The replay JSON (schema 1) of a run, which showcase pages play.

Existing field names are frozen; new fields are added beside them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Cause, UnknownName
from mesocosm.core.ports import BlobStore, EngineStore
from mesocosm.core.run import RESCORING, Run, RunStatus
from mesocosm.core.score import MetricTerms, Score

SCHEMA_VERSION = "1"

PARTS = ("episodes", "traces", "replay")
"""The parts of the document, in addition to the run itself."""

WORST = "worst"
"""In an episode's `unscored`, instead of a cause: the agent's own failure counts as the metric's worst value."""

ASKED = ("input", "target", "reference", "answer", "why", "mistake", "behaviour")
"""Fields of an episode that are left out if they are empty."""

_ORDER = {
    "episode_start": 0,
    "model_call": 2,
    "action": 3,
    "tool_call": 3,
    "technique_event": 3,
    "step_result": 4,
    "reward": 4,
    "retry": 2,
    "error": 98,
    "episode_end": 99,
}
_PHASES = {"start": 0, "before_agent": 1, "after_env": 5}
_PASSED = {Kind.EPISODE_START, Kind.TOOL_CALL, Kind.TECHNIQUE, Kind.STEP_RESULT, Kind.EPISODE_END}
_STATUS = {RunStatus.FINISHED: "completed", RunStatus.STOPPED: "cancelled"}
_ADDED = {Kind.WARNING: "warning", Kind.ERROR: "error", Kind.RETRY: "retry"}

JSON = dict[str, Any]


def moment(stamp: float | None) -> str | None:
    """Return a UNIX time as ISO 8601 with offset."""
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC).isoformat()


def episode_document(episode: Episode) -> JSON:
    """Return an episode with the frozen field names, then the newer ones."""
    scores = {score.name: score.value for score in episode.scores}
    return {
        "id": episode.id,
        "run_id": episode.run_id,
        "seed": episode.seed,
        "status": episode.status,
        "started_at": moment(episode.started_at),
        "ended_at": moment(episode.ended_at),
        "steps": episode.steps,
        "total_reward": episode.total_reward,
        "terminal_info": episode.terminal_info,
        "task": episode.task_id,
        "trial": episode.trial,
        "index": episode.index,
        "scores": scores,
        "unscored": {score.name: _why(score) for score in episode.scores if score.value is None},
        "task_digest": episode.task_digest,
        "cluster": episode.cluster,
        "failure": None if episode.failure is None else msgspec.to_builtins(episode.failure),
        "usage": msgspec.to_builtins(episode.usage),
        "retries": episode.retries,
        **{name: value for name in ASKED if (value := getattr(episode, name)) not in (None, "")},
    }


def _why(score: Score) -> str:
    """Return why a score has no value: the cause, or WORST if the agent's own failure counts as the worst value."""
    return WORST if score.worst else str(score.missing or Cause.VALUE_MISSING)


class ReplayScoring(MetricTerms, frozen=True, omit_defaults=True):
    """The terms of a run's metrics, so that readers can compute them from the episodes.

    `doubt` and `regraded` are the run's fields; `rescoring` means that only a part of its scores has been recomputed.
    """

    planned: Annotated[int, msgspec.Meta(ge=0)] = 0
    doubt: str = ""
    regraded: str = ""
    rescoring: bool = False


def scoring(run: Run) -> ReplayScoring:
    """Return the scoring terms of a run."""
    given = msgspec.structs.asdict(run.terms)
    rescoring = bool(run.provenance.get(RESCORING))
    return ReplayScoring(
        **given, planned=run.counts.planned, doubt=run.doubt, regraded=run.regraded, rescoring=rescoring
    )


def trace(episode: Episode, events: Iterable[Event], blobs: BlobStore) -> list[JSON]:
    """Return an episode's events with the frozen names and in the frozen order.

    An observation is recorded once; here it appears where readers expect it: at the start, before the agent acts on it,
    and after the environment returned it.
    """
    recorded = list(events)
    acted = {event.step for event in recorded if event.kind in {Kind.ACTION, Kind.MODEL_CALL}}
    thoughts = {
        event.step: event.payload["reasoning"]
        for event in recorded
        if event.kind is Kind.ACTION and event.payload.get("reasoning")
    }
    # A reply that became the action is represented by the action and its reasoning; other replies are included as text.
    last_calls = {event.step: event.seq for event in recorded if event.kind is Kind.MODEL_CALL}
    played = {event.step for event in recorded if event.kind is Kind.ACTION}
    found: list[JSON] = []
    spent = 0
    for event in recorded:
        entry = {"episode_id": episode.id, "step": event.step, "timestamp": moment(event.at)}
        if event.kind is Kind.OBSERVATION:
            found += _observations(entry, inline(event.payload, blobs), acted)
        elif event.kind is Kind.MODEL_CALL:
            usage = event.payload.get("usage") or {}
            spent += usage.get("prompt", 0) + usage.get("completion", 0)
            became_action = event.step in played and last_calls[event.step] == event.seq
            thought = thoughts.get(event.step) if became_action else None
            found += _model_call(entry, event.payload, thought, spent, hidden=became_action)
        elif event.kind is Kind.ACTION:
            payload = {key: value for key, value in event.payload.items() if key in {"action", "role"}}
            found.append({**entry, "event_type": "action", "payload": payload})
        elif event.kind in _PASSED or event.kind in _ADDED:
            found.append({**entry, "event_type": _ADDED.get(event.kind, event.kind), "payload": event.payload})
    found.sort(key=_rank)
    return found


def _observations(entry: JSON, payload: JSON, acted: set[int]) -> list[JSON]:
    step = entry["step"]
    shown = {
        "data": payload.get("data"),
        "content_type": payload.get("content_type", "application/json"),
        "system_prompt": payload.get("system_prompt"),
    }
    phases = [(step, "after_env" if step else "start")]
    if step + 1 in acted:
        phases.append((step + 1, "before_agent"))
    return [
        {**entry, "step": at, "event_type": "observation", "payload": {"phase": phase, **shown}} for at, phase in phases
    ]


def _model_call(entry: JSON, payload: JSON, reasoning: str | None, spent: int, *, hidden: bool) -> list[JSON]:
    usage = payload.get("usage") or {}
    prompt, completion = usage.get("prompt", 0), usage.get("completion", 0)
    found = []
    if prompt or completion:
        counted = {
            "kind": "token_usage",
            "step_tokens": prompt + completion,
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "cumulative_tokens": spent,
        }
        found.append({**entry, "event_type": "technique_event", "payload": counted})
    said = "" if hidden and payload.get("structured") else payload.get("text", "")
    text = reasoning or payload.get("reasoning") or said
    if text:
        call = {"text": text, "model": payload.get("model"), "latency_s": payload.get("latency_s")}
        found.append({**entry, "event_type": "model_call", "payload": call})
    return found


def _rank(event: JSON) -> tuple[int, int, str]:
    kind = event["event_type"]
    place = _PHASES[event["payload"]["phase"]] if kind == "observation" else _ORDER.get(kind, 50)
    return event["step"], place, kind


def inline(payload: Any, blobs: BlobStore) -> Any:
    """Return a payload with references to large content replaced by the content."""
    if isinstance(payload, dict):
        if payload.keys() == {"$blob", "bytes"} and isinstance(payload["$blob"], str):
            # An environment's own data may only look like a reference.
            with suppress(UnknownName):
                return blobs.get(payload["$blob"]).data.decode("utf-8", "replace")
        return {key: inline(value, blobs) for key, value in payload.items()}
    if isinstance(payload, list):
        return [inline(value, blobs) for value in payload]
    return payload


def turns(events: Iterable[JSON]) -> list[JSON]:
    """Return the turns of an episode (steps from 1); a key exists only if an event supplied it."""
    found: dict[int, JSON] = {}
    end: JSON | None = None
    for event in events:
        kind, payload = event["event_type"], event["payload"]
        if kind == "episode_end":
            end = payload
            continue
        if event["step"] < 1:
            continue
        turn = found.setdefault(event["step"], {"step": event["step"], "timestamp": event["timestamp"]})
        _fill(turn, kind, payload)
    ordered = [found[step] for step in sorted(found)]
    if end is not None and ordered:
        names = ("total_reward", "steps", "status", "terminal_info")
        ordered[-1]["episode_end"] = {name: end.get(name) for name in names}
    return ordered


def _fill(turn: JSON, kind: str, payload: JSON) -> None:
    if kind == "observation":
        data = payload.get("data")
        if payload["phase"] == "after_env":
            turn["board_after"] = data
        else:
            turn["board_before"] = turn["observation"] = data
        if payload.get("system_prompt"):
            turn["env_system_prompt"] = payload["system_prompt"]
        if isinstance(data, dict) and data.get("message"):
            turn["env_message"] = data["message"]
    elif kind == "model_call":
        if text := str(payload.get("text", "")).strip():
            turn["reasoning"] = text
        turn["model"] = payload.get("model")
    elif kind == "action":
        turn.update(payload)
    elif kind == "step_result":
        turn.update({name: payload[name] for name in ("reward", "terminated", "truncated", "info") if name in payload})


def pieces(
    run: Run,
    episodes: Callable[[], Iterable[Episode]],
    recorded: Callable[[str], Iterable[Event]],
    blobs: BlobStore,
    document: Callable[[Any], JSON],
    parts: Collection[str] = PARTS,
) -> Iterator[bytes]:
    """Yield the replay JSON of a run in pieces, with one episode in memory at a time.

    `episodes` returns the episodes in plan order, `recorded` the events of an episode by its id. `document` returns the
    JSON form of the run. PARTS that are not in `parts` stay empty. Traces are read twice, once as events and once as
    turns.
    """
    described = document(run)
    head = {
        "schema_version": SCHEMA_VERSION,
        "exported_at": datetime.now(UTC).isoformat(),
        "visibility": described.get("visibility", "private"),
        "domain_id": run.benchmark,
        "domain_name": run.benchmark_title or None,
        "binding_vow_version": run.benchmark_version,
        "run": {**described, "status": _STATUS.get(run.status, run.status), "scoring": scoring(run)},
    }
    yield msgspec.json.encode(head)[:-1]

    def each(part: str, of: Callable[[Episode], Any]) -> Iterator[tuple[Episode, bytes]]:
        for episode in episodes() if part in parts else ():
            yield episode, msgspec.json.encode(of(episode))

    def events(episode: Episode) -> list[JSON]:
        return trace(episode, recorded(episode.id), blobs)

    yield b',"episodes":['
    for place, (_, data) in enumerate(each("episodes", episode_document)):
        yield (b"," if place else b"") + data
    yield b'],"traces":{'
    for place, (episode, data) in enumerate(each("traces", events)):
        yield (b"," if place else b"") + msgspec.json.encode(episode.id) + b":" + data
    yield b'},"replay":{'
    for place, (episode, data) in enumerate(each("replay", lambda episode: turns(events(episode)))):
        yield (b"," if place else b"") + msgspec.json.encode(episode.id) + b":" + data
    yield b"}}\n"


def all_episodes(store: EngineStore, run_id: str) -> Iterator[Episode]:
    """Yield the episodes of a run in plan order, page by page."""
    cursor: str | None = None
    while True:
        page = store.episodes.list(run_id, cursor=cursor)
        yield from page.items
        if page.cursor is None:
            return
        cursor = page.cursor
