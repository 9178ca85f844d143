"""Read a replay JSON file back as a run, so that exports of others can be viewed and compared."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import RULES, Cause, Failure, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import LOCAL_MAX_TOKENS, ModelSettings
from mesocosm.core.run import DOUBT, RESCORING, BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import MetricResult, MetricTerms, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.interop.replay import ASKED, WORST, ReplayScoring
from mesocosm.interop.stated import counts_of, stated_metric

JSON = dict[str, Any]
T = TypeVar("T")
PIECE = 100
"""Number of events per chunk."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_STATUS = {
    "completed": RunStatus.FINISHED,
    "finished": RunStatus.FINISHED,
    "partial": RunStatus.PARTIAL,
    "cancelled": RunStatus.STOPPED,
    "stopped": RunStatus.STOPPED,
    "running": RunStatus.STOPPED,
    "pending": RunStatus.STOPPED,
}
_KINDS = {
    "episode_start": Kind.EPISODE_START,
    "model_call": Kind.MODEL_CALL,
    "action": Kind.ACTION,
    "tool_call": Kind.TOOL_CALL,
    "technique_event": Kind.TECHNIQUE,
    "step_result": Kind.STEP_RESULT,
    "warning": Kind.WARNING,
    "error": Kind.ERROR,
    "retry": Kind.RETRY,
    "episode_end": Kind.EPISODE_END,
}


def is_replay(path: Path) -> bool:
    """Return whether a file looks like JSON rather than a bundle. Raises UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class ReplayFile:
    """A replay file as records. It has no blobs, because replay files contain large content inline."""

    run: Run
    entries: list[Entry]


def read_replay(path: Path) -> ReplayFile:
    """Read a schema-1 replay file. Raises UsageError with what is missing or wrong."""
    try:
        raw = path.read_bytes()
        document = json.loads(raw, parse_constant=lambda _: None, parse_int=_integer)
        document = _encodable(document) if _SURROGATE.search(raw) else document
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict) or str(document.get("schema_version")) != "1":
        raise UsageError(f"{path} is not a replay of schema 1: it needs `schema_version`, `run`, `episodes`, `replay`")
    try:
        return _replay(document)
    except KeyError as error:
        raise UsageError(f"{path} is a damaged replay: {error} is missing") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path} is a damaged replay: {error}") from error


def _encodable(value: Any) -> Any:
    """Return JSON with lone surrogates replaced: JSON can escape them, but UTF-8 cannot encode them."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list) else value


def _integer(digits: str) -> int | float:
    """Return an integer, or a float if it exceeds 64 bits, which loses its last digits as in a browser."""
    value = int(digits) if len(digits) < 20 else float(digits)
    return value if abs(value) < 2**63 else float(value)


def _replay(document: JSON) -> ReplayFile:
    run = document["run"]
    traces = {str(key): list(events) for key, events in (document.get("traces") or {}).items()}
    for key, turns in (document.get("replay") or {}).items():
        if not traces.get(key):
            traces[str(key)] = _from_turns(turns)
    run_id = str(run.get("id") or digest(document))
    listed = [_episode(item, run_id, place) for place, item in enumerate(document["episodes"])]
    if len({episode.id for episode in listed}) < len(listed):
        raise ValueError("two episodes have the same id")
    record = _run(document, run, run_id, listed)
    finished = [episode for episode in listed if episode.status in FINISHED]
    if left := len(listed) - len(finished):
        record.warnings += (
            f"{left} of {len(listed)} episodes were not finished when this was exported; they are left out",
        )
    entries = [_entry(episode, traces.get(episode.id, [])) for episode in finished]
    return ReplayFile(_checked(record, Run), _checked(entries, list[Entry]))


def _entry(episode: Episode, trace: list[JSON]) -> Entry:
    events = list(_events(trace))
    return Entry(msgspec.structs.replace(episode, events=len(events)), list(_chunks(iter(events))))


def _checked(records: T, kind: type[T]) -> T:
    """Return records with the type of every field validated. Raises msgspec.MsgspecError and encoding errors."""
    return msgspec.json.decode(msgspec.json.encode(records), type=kind)


def _run(document: JSON, run: JSON, run_id: str, listed: list[Episode]) -> Run:
    config = run.get("config") or {}
    agent = config.get("agent_config") or {}
    model = str(agent.get("model") or run.get("model") or "unknown/unknown")
    outcomes = [episode.status for episode in listed]
    scoring = msgspec.convert(run.get("scoring") or {}, ReplayScoring)
    planned = max(scoring.planned, len(listed))
    terms = {
        name: value for name, value in msgspec.to_builtins(scoring).items() if name in MetricTerms.__struct_fields__
    }
    source = BenchmarkRef("imported", str(document.get("domain_id") or "unknown"))
    settings = ModelSettings(
        model, float(agent.get("temperature") or 0.0), int(agent.get("max_tokens") or LOCAL_MAX_TOKENS)
    )
    return Run(
        id=run_id,
        signature=digest({"imported": run_id}),
        benchmark=source.source,
        benchmark_title=str(document.get("domain_name") or source.source),
        benchmark_version=str(document.get("binding_vow_version") or ""),
        benchmark_digest="",
        kind="imported",
        model=model,
        agent="imported",
        spec=RunSpec(source, settings, selection=Selection(count=len(listed))),
        status=_STATUS.get(str(run.get("status")), RunStatus.FAILED),
        counts=counts_of(outcomes, planned),
        metrics=_metrics(run, scoring, len(listed)),
        name=str(run.get("name") or ""),
        created_at=_stamp(run.get("created_at")) or 0.0,
        started_at=_stamp(run.get("started_at") or run.get("created_at")),
        ended_at=_stamp(run.get("completed_at")),
        warnings=(f"where this run comes from it is in doubt: {scoring.doubt}",) if scoring.doubt else (),
        info=terms,
        provenance={
            "imported_from": "replay",
            "exported_at": document.get("exported_at"),
            **({DOUBT: scoring.doubt} if scoring.doubt else {}),
            **({"rescored_with": scoring.regraded, "graded_with": scoring.regraded} if scoring.regraded else {}),
            **({RESCORING: True} if scoring.rescoring else {}),
        },
    )


def _metrics(run: JSON, scoring: ReplayScoring, episodes: int) -> tuple[MetricResult, ...]:
    """Return the metrics of a run: our own completely, those of other tools without an interval."""
    if run.get("metrics"):
        return msgspec.convert(run["metrics"], tuple[MetricResult, ...])
    if scoring.metrics:
        # They are computed from the episodes, which have more information than `scores`.
        return ()
    scores = {str(name): value for name, value in (run.get("scores") or {}).items() if isinstance(value, int | float)}
    return tuple(stated_metric(name, value, episodes, primary=len(scores) == 1) for name, value in scores.items())


def _episode(item: JSON, run_id: str, place: int) -> Episode:
    seed = item.get("seed")
    status = EpisodeStatus(item.get("status") or "completed")
    info = item.get("terminal_info") or {}
    failure = None
    if status is EpisodeStatus.FAILED:
        failure = Failure(
            Cause.INTERNAL, RULES[Cause.INTERNAL].boundary, str(info.get("error") or "failed before the export")
        )
        if isinstance(item.get("failure"), dict):
            failure = msgspec.convert(item["failure"], Failure)
    started = _stamp(item.get("started_at")) or 0.0
    task = Task(f"seed-{seed}" if seed is not None else str(item.get("task") or place), seed=seed, input=None)
    return Episode(
        id=str(item["id"]),
        run_id=run_id,
        task_digest=digest({"imported": [run_id, item["id"]]}),
        cluster=str(item.get("cluster") or item.get("task_digest") or ""),
        task_id=str(item.get("task") or task.id),
        trial=int(item.get("trial") or 0),
        seed=seed,
        index=place,
        status=status,
        started_at=started,
        ended_at=_stamp(item.get("ended_at")) or started,
        steps=int(item.get("steps") or 0),
        total_reward=float(item.get("total_reward") or 0.0),
        terminal_info=info,
        failure=failure,
        usage=msgspec.convert(item.get("usage") or {"cost_usd": None}, Usage),
        scores=tuple(_scores(item)),
        **{name: item[name] for name in ASKED if name in item},
    )


def _scores(item: JSON) -> Iterator[Score]:
    """Yield the scores of an episode; a score without a value or reason counts as missing."""
    why = item.get("unscored") or {}
    for name, value in (item.get("scores") or {}).items():
        if value is not None:
            yield Score(str(name), value)
        elif why.get(name) == WORST:
            yield Score(str(name), worst=True)
        else:
            yield Score(str(name), missing=Cause(why.get(name, Cause.VALUE_MISSING)))


def _stamp(text: object) -> float | None:
    """Return an ISO time as UNIX seconds; times without an offset are UTC, as the older platform wrote them."""
    if not isinstance(text, str) or not text:
        return None
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _from_turns(turns: list[JSON]) -> list[JSON]:
    """Convert a list of turns to events, for files without traces."""
    found: list[JSON] = []
    for turn in turns:
        step, at = int(turn["step"]), turn.get("timestamp")

        def add(kind: str, payload: JSON, step: int = step, at: object = at) -> None:
            found.append({"step": step, "timestamp": at, "event_type": kind, "payload": payload})

        before = turn.get("observation", turn.get("board_before"))
        if step == 1 and before is not None:
            add("observation", {"phase": "start", "data": before}, 0)
        if turn.get("reasoning"):
            add("model_call", {"text": turn["reasoning"], "model": turn.get("model")})
        if "action" in turn:
            add("action", {"action": turn["action"]})
        result: JSON = {name: turn[name] for name in ("reward", "terminated", "truncated", "info") if name in turn}
        if result:
            add("step_result", result)
        if "board_after" in turn:
            add("observation", {"phase": "after_env", "data": turn["board_after"]})
        if "episode_end" in turn:
            add("episode_end", turn["episode_end"])
    return found


def _events(entries: list[JSON]) -> Iterator[Event]:
    """Convert exported events to our events; an observation that was exported twice is returned once."""
    seq = 0
    for entry in entries:
        kind, payload = str(entry["event_type"]), entry.get("payload") or {}
        if kind == "observation":
            if payload.get("phase") == "before_agent":
                continue
            known = {
                key: payload[key] for key in ("data", "content_type", "system_prompt") if payload.get(key) is not None
            }
            event, payload = Kind.OBSERVATION, {"data": None, **known}
        else:
            event = _KINDS.get(kind, Kind.LOG)
            payload = payload if event is not Kind.LOG else {"event_type": kind, "payload": payload}
        yield Event(seq, int(entry.get("step") or 0), _stamp(entry.get("timestamp")) or 0.0, event, payload)
        seq += 1


def _chunks(events: Iterator[Event]) -> Iterator[Chunk]:
    for number in count():
        piece = list(islice(events, PIECE))
        if not piece:
            return
        raw = b"".join(msgspec.json.encode(event) + b"\n" for event in piece)
        yield Chunk(number, piece[0].seq, piece[-1].seq, piece[0].step, piece[-1].step, raw)
