"""Write a run as a log of Inspect (`.eval`, version 2), which its viewer and `inspect_ai.log.read_eval_log` open.

A run that was imported from such a log is written with everything that the log held. Of other runs each episode is a
sample: its messages, model calls, tool calls and scores; what Inspect has no event for is an `info` event.
"""

import json
import math
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec

import mesocosm
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Cause
from mesocosm.core.ports import BlobStore, EntryStore
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.interop.conversation import EpisodeConversation, Said, text_of
from mesocosm.interop.files import replacing
from mesocosm.interop.imports.inspect_file import EXPORTED, HEADER, VERSION
from mesocosm.interop.imports.inspect_sample import KEPT
from mesocosm.interop.imports.inspect_values import as_number, named_values
from mesocosm.interop.imports.trace_writer import places
from mesocosm.interop.record import moment
from mesocosm.interop.replay import inline

JSON = dict[str, Any]

OURS = "mesocosm"
"""Key in the metadata of a score: why it has no value."""

_STATUS = {
    RunStatus.FINISHED: "success",
    RunStatus.PARTIAL: "success",
    RunStatus.STOPPED: "cancelled",
    RunStatus.FAILED: "error",
}
_STOPS = {"length": "max_tokens", **{name: name for name in ("stop", "tool_calls", "content_filter", "max_tokens")}}
_LIMITS = {EpisodeStatus.TRUNCATED: "message", EpisodeStatus.TIMEOUT: "time"}
_REASONS = {Cause.BUDGET.value: "token", Cause.CONTEXT_OVERFLOW.value: "context"}
_LONGEST = 500

_events = msgspec.json.Decoder(Event)


class LogSource(Protocol):
    """The store that a log is written from."""

    @property
    def bundles(self) -> EntryStore:
        """Episodes with their traces."""
        ...

    @property
    def blobs(self) -> BlobStore:
        """Large content."""
        ...


class FileContent(Protocol):
    """Returns the content of a file of a run or of one of its episodes by name, None if there is none."""

    def __call__(self, name: str, episode_id: str = "") -> bytes | None:
        """Return the content."""
        ...


def write_log(run: Run, store: LogSource, files: FileContent, path: Path) -> int:
    """Write a run to `path` atomically and return the number of samples. Raises UsageError if it cannot be written.

    Only finished episodes are samples; the header says how many were planned.
    """
    with replacing(path) as file:
        return _write(run, store, files, file)


def _write(run: Run, store: LogSource, files: FileContent, file: BinaryIO) -> int:
    kept = files(HEADER)
    given: JSON = json.loads(kept) if kept is not None else {}
    summaries: list[JSON] = []
    scores: dict[str, None] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for _, entries in groupby(store.bundles.entries(run.id), key=lambda entry: entry.episode.id):
            found = list(entries)
            episode = found[-1].episode
            if episode.status not in FINISHED:
                continue
            raw = b"".join(chunk.raw for entry in found for chunk in entry.chunks)
            events = [_events.decode(line) for line in raw.split(b"\n") if line]
            rest = files(KEPT, episode.id)
            if rest is not None:
                sample = _restored(episode, events, json.loads(rest), store.blobs)
            else:
                sample = _Sample(run, episode, events, raw, store.blobs).document()
            scores |= dict.fromkeys(sample.get("scores") or ())
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", _dump(sample))
            summaries.append(_summary(sample))
        header = given.get("header") or _header(run, summaries, list(scores))
        archive.writestr("summaries.json", _dump(summaries))
        if given.get("reductions") is not None:
            archive.writestr("reductions.json", _dump(given["reductions"]))
        start = {name: header[name] for name in ("version", "eval", "plan") if name in header}
        archive.writestr("_journal/start.json", _dump(start))
        archive.writestr("header.json", _dump(header))
    return len(summaries)


def _dump(value: Any) -> bytes:
    """Return JSON as Inspect writes it: with NaN for a score without a value."""
    return json.dumps(value, ensure_ascii=False, default=msgspec.to_builtins).encode("utf-8", "replace")


def _restored(episode: Episode, events: Sequence[Event], kept: JSON, blobs: BlobStore) -> JSON:
    """Return the sample that an episode was imported from, with the scores that it has now."""
    pool: list[JSON] = []
    for event in events:
        if event.kind is Kind.MESSAGE:
            pool.append(_kept_message(inline(event.payload, blobs), kept["messages"].get(str(len(pool)), {})))
    sample = dict(kept["sample"])
    sample["messages"] = [pool[place] for place in places(kept["shown"])]
    sample["events"] = [_kept_event(events, place, rest) for place, rest in kept["events"]]
    sample["attachments"] = kept.get("attachments") or {}
    sample["events_data"] = {"messages": pool, "calls": [], **(sample.get("events_data") or {})}
    sample["scores"] = _current(sample.get("scores") or {}, episode.scores)
    return sample


def _kept_message(message: Said, rest: JSON) -> JSON:
    found = {"role": message["role"], "content": message.get("content", ""), **rest}
    if message.get("tool_calls") and "tool_calls" not in rest:
        found["tool_calls"] = [
            {"id": call["id"], "function": call["name"], "arguments": call["arguments"], "type": "function"}
            for call in message["tool_calls"]
        ]
    return found


def _kept_event(events: Sequence[Event], place: int | None, rest: JSON) -> JSON:
    if rest.get("event") != "model" or place is None:
        return rest
    asked = events[place].payload.get("messages") or ()
    return {**rest, "input": [], "input_refs": [[first, last + 1] for first, last in asked]}


def _current(given: JSON, scores: Sequence[Score]) -> JSON:
    """Return the scores of a log, with the values of `scores` where these are other numbers: after a rescoring."""
    known = {score.name: score for score in scores}
    found: JSON = {}
    for scorer, score in given.items():
        value = score.get("value")
        changed = {
            name: known[name].value
            for name, inner in named_values(scorer, value)
            if name in known and known[name].value is not None and known[name].value != as_number(inner)
        }
        if changed and isinstance(value, Mapping):
            value = {key: changed.get(f"{scorer}.{key}", inner) for key, inner in value.items()}
        elif changed and isinstance(value, list):
            value = [changed.get(f"{scorer}.{key}", inner) for key, inner in enumerate(value)]
        elif changed:
            value = changed[scorer]
        found[scorer] = {**score, "value": value}
    return found


class _Sample:
    """An episode of ours as a sample."""

    def __init__(self, run: Run, episode: Episode, events: Sequence[Event], raw: bytes, blobs: BlobStore) -> None:
        self._run, self._episode, self._events, self._blobs = run, episode, events, blobs
        self._said = EpisodeConversation()
        self._said.take(raw, blobs)
        self._pool: list[JSON] = []
        self._places: dict[int, int] = {}

    def document(self) -> JSON:
        """Return the sample."""
        episode, run = self._episode, self._run
        messages = [_message(said, run.model) for said in self._said.messages(episode)]
        asked, target = self._input(messages), _target(inline(episode.target, self._blobs))
        metadata = {**episode.labels, **({} if episode.seed is None else {"seed": episode.seed})}
        events = list(self._all_events(asked, target, metadata))
        ended = episode.ended_at or episode.started_at
        found: JSON = {
            "id": episode.task_id,
            "epoch": episode.trial + 1,
            "input": asked,
            "target": target,
            "messages": messages,
            "output": self._output(),
            "scores": {score.name: self._score(score) for score in episode.scores},
            "metadata": metadata,
            "store": {},
            "events": events,
            "events_data": {"messages": self._pool, "calls": []},
            "attachments": {},
            "model_usage": {run.model: _usage(msgspec.to_builtins(episode.usage))} if episode.usage.calls else {},
            "started_at": moment(episode.started_at),
            "completed_at": moment(ended),
            "total_time": round(max(ended - episode.started_at, 0.0), 3),
            "uuid": episode.id,
        }
        if episode.failure is not None:
            found["error"] = _error(episode.failure.message, episode.failure.detail)
        if episode.status in _LIMITS:
            reason = str(episode.terminal_info.get("reason") or "")
            steps = episode.terminal_info.get("max_steps")
            found["limit"] = {
                "type": _REASONS.get(reason, _LIMITS[episode.status]),
                "limit": float(steps) if isinstance(steps, int | float) else float(episode.steps),
            }
        return found

    def _input(self, messages: Sequence[JSON]) -> Any:
        first = next((place for place, one in enumerate(messages) if one["role"] == "assistant"), len(messages))
        asked = list(messages[:first])
        if len(asked) == 1 and asked[0]["role"] == "user" and isinstance(asked[0]["content"], str):
            return asked[0]["content"]
        if asked:
            return asked
        given = inline(self._episode.input, self._blobs)
        return given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)

    def _score(self, score: Score) -> JSON:
        value = score.value
        facts: JSON = {}
        if value is None and score.worst:
            facts = {"worst": True}
            value = next((one.worst_value for one in self._run.metrics if one.name == score.name), None)
        elif value is None:
            facts = {"missing": str(score.missing or Cause.VALUE_MISSING)}
        found: JSON = {"value": math.nan if value is None else value, "history": []}
        if score.explanation:
            found["explanation"] = score.explanation
        if facts:
            found["metadata"] = {OURS: facts}
        answer = inline(self._episode.answer, self._blobs)
        if answer is not None and self._primary == score.name:
            found["answer"] = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return found

    @property
    def _primary(self) -> str:
        return next((str(one["score"]) for one in self._run.info.get("metrics", ()) if one.get("primary")), "")

    def _output(self) -> JSON:
        last = next((event for event in reversed(self._events) if self._called(event)), None)
        if last is None:
            return {"model": self._run.model, "choices": [], "completion": ""}
        return _output(inline(last.payload, self._blobs), self._run.model)

    @staticmethod
    def _called(event: Event) -> bool:
        return event.kind is Kind.MODEL_CALL and isinstance(event.payload, dict) and not event.payload.get("role")

    def _all_events(self, asked: Any, target: Any, metadata: JSON) -> Iterator[JSON]:
        sample = {"input": asked, "target": target, "id": self._episode.task_id, "metadata": metadata}
        yield {**self._envelope(0, self._episode.started_at), "event": "sample_init", "sample": sample, "state": {}}
        for event in self._events:
            payload = inline(event.payload, self._blobs)
            if event.kind is Kind.MESSAGE and isinstance(payload, dict):
                self._places[payload.get("index", len(self._pool))] = len(self._pool)
                self._pool.append(_message(payload, self._run.model))
            elif event.kind is Kind.MODEL_CALL and isinstance(payload, dict):
                yield self._model(event, payload)
            elif event.kind is Kind.TOOL_CALL and isinstance(payload, dict):
                yield self._tool(event, payload)
            elif event.kind is Kind.ERROR and isinstance(payload, dict):
                error = _error(str(payload.get("message") or ""), str(payload.get("detail") or ""))
                yield {**self._envelope(event.seq + 1, event.at), "event": "error", "error": error}
            elif event.kind not in (Kind.EPISODE_START, Kind.EPISODE_END):
                data = {"kind": event.kind, "step": event.step, "payload": payload}
                yield {**self._envelope(event.seq + 1, event.at), "event": "info", "source": OURS, "data": data}

    def _envelope(self, number: int, at: float) -> JSON:
        begun = max(at - self._episode.started_at, 0.0)
        return {"uuid": f"{self._episode.id}-{number}", "timestamp": moment(at), "working_start": begun}

    def _model(self, event: Event, payload: JSON) -> JSON:
        listed = [self._places[place] for place in places(payload.get("messages") or ()) if place in self._places]
        given = payload.get("request")
        request: JSON = given if isinstance(given, dict) else {}
        names = ("temperature", "max_tokens", "seed")
        config = {name: request[name] for name in names if isinstance(request.get(name), int | float)}
        seconds = payload.get("latency_s")
        begun = event.at - seconds if isinstance(seconds, int | float) else event.at
        return {
            **self._envelope(event.seq + 1, begun),
            "event": "model",
            "model": str(payload.get("model") or self._run.model),
            **({"role": payload["role"]} if payload.get("role") else {}),
            "input": [],
            "input_refs": [[place, place + 1] for place in listed],
            "tools": [],
            "tool_choice": "auto",
            "config": config,
            "output": _output(payload, self._run.model),
            "completed": moment(event.at),
        }

    def _tool(self, event: Event, payload: JSON) -> JSON:
        arguments = payload.get("arguments")
        result = payload.get("result")
        if not isinstance(result, str | int | float | bool):
            result = "" if result is None else json.dumps(result)
        return {
            **self._envelope(event.seq + 1, event.at),
            "event": "tool",
            "type": "function",
            "id": str(payload.get("id") or f"call-{event.seq}"),
            "function": str(payload.get("name") or ""),
            "arguments": arguments if isinstance(arguments, dict) else {"value": arguments},
            "result": result,
            "events": [],
        }


def _message(said: Said, model: str) -> JSON:
    """Return a message in OpenAI's form, or in that of a trace, as one of Inspect."""
    role = said.get("role")
    role = "system" if role == "developer" else role if role in ("system", "user", "assistant", "tool") else "user"
    found: JSON = {"role": role, "content": _content(said)}
    if role == "assistant":
        found |= {"source": "generate", "model": model}
        calls = said.get("tool_calls")
        if isinstance(calls, Sequence) and not isinstance(calls, str) and calls:
            found["tool_calls"] = [_call(call, place) for place, call in enumerate(calls) if isinstance(call, Mapping)]
    elif role == "tool" and said.get("tool_call_id"):
        found["tool_call_id"] = str(said["tool_call_id"])
    return found


def _content(said: Said) -> Any:
    content = said.get("content")
    thought = said.get("reasoning_content") or said.get("reasoning")
    parts: list[JSON] = [{"type": "reasoning", "reasoning": thought}] if isinstance(thought, str) and thought else []
    if isinstance(content, str) or content is None:
        return [*parts, {"type": "text", "text": content or ""}] if parts else content or ""
    for part in content if isinstance(content, Sequence) else ():
        if isinstance(part, Mapping) and (address := _picture(part)):
            parts.append({"type": "image", "image": address})
        elif text := text_of([part]):
            parts.append({"type": "text", "text": text})
    return parts


def _picture(part: Mapping[str, Any]) -> str:
    if part.get("type") == "image":
        data = part.get("data")
        if isinstance(data, str) and data:
            return f"data:{part.get('media_type') or 'image/png'};base64,{data}"
        return str(part.get("url") or "")
    named = part.get("image_url") if part.get("type") == "image_url" else None
    return str(named.get("url") if isinstance(named, Mapping) else named or "")


def _call(call: Mapping[str, Any], place: int) -> JSON:
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    arguments, error = named.get("arguments"), None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            error = f"it is no JSON: {arguments}"
    found: JSON = {
        "id": str(call.get("id") or f"call_{place}"),
        "function": str(named.get("name") or ""),
        "arguments": arguments if isinstance(arguments, dict) else {},
        "type": "function",
    }
    return {**found, "parse_error": error} if error else found


def _output(payload: Mapping[str, Any], model: str) -> JSON:
    said = {"role": "assistant", "content": payload.get("text") or ""}
    said |= {name: payload[name] for name in ("reasoning", "tool_calls") if payload.get(name)}
    usage, seconds = payload.get("usage"), payload.get("latency_s")
    found: JSON = {
        "model": str(payload.get("served") or payload.get("model") or model),
        "choices": [
            {"message": _message(said, model), "stop_reason": _STOPS.get(str(payload.get("finish_reason")), "unknown")}
        ],
        "completion": str(payload.get("text") or ""),
    }
    if isinstance(usage, Mapping):
        found["usage"] = _usage(usage)
    if isinstance(seconds, int | float):
        found["time"] = seconds
    return found


def _usage(usage: Mapping[str, Any]) -> JSON:
    used = msgspec.convert({name: usage[name] for name in Usage.__struct_fields__ if name in usage}, Usage)
    found: JSON = {
        "input_tokens": used.prompt,
        "output_tokens": used.completion,
        "total_tokens": used.total,
    }
    if used.cached:
        found["input_tokens_cache_read"] = used.cached
        found["input_tokens"] = used.prompt - used.cached
    if used.reasoning:
        found["reasoning_tokens"] = used.reasoning
    if used.cost_usd is not None:
        found["total_cost"] = used.cost_usd
    return found


def _target(target: Any) -> Any:
    if target is None:
        return ""
    if isinstance(target, str) or (isinstance(target, list) and all(isinstance(one, str) for one in target)):
        return target
    return json.dumps(target, ensure_ascii=False)


def _error(message: str, detail: str = "") -> JSON:
    return {"message": message, "traceback": detail, "traceback_ansi": detail}


def _summary(sample: JSON) -> JSON:
    names = ("id", "epoch", "target", "metadata", "model_usage", "role_usage", "started_at", "completed_at")
    found = {name: sample[name] for name in (*names, "total_time", "working_time", "uuid") if name in sample}
    asked = sample["input"]
    found["input"] = asked[:_LONGEST] if isinstance(asked, str) else asked
    found["scores"] = {
        name: {key: value for key, value in score.items() if key in ("value", "answer", "history")}
        for name, score in (sample.get("scores") or {}).items()
    }
    if sample.get("error"):
        found["error"] = sample["error"]["message"]
    if sample.get("limit"):
        found["limit"] = sample["limit"]["type"]
    return {**found, "completed": True, "retries": len(sample.get("error_retries") or ())}


def _header(run: Run, summaries: Sequence[JSON], scores: Sequence[str]) -> JSON:
    settings, selection = run.spec.model, run.spec.selection
    generate = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
    ids = list(dict.fromkeys(one["id"] for one in summaries))
    used = {run.model: _usage(msgspec.to_builtins(run.usage))} if run.usage.calls else {}
    header: JSON = {
        "version": VERSION,
        "status": _STATUS.get(run.status, "started"),
        "eval": {
            "eval_id": run.id,
            "run_id": run.group_id or run.id,
            "created": moment(run.created_at),
            "task": run.benchmark,
            "task_id": run.signature,
            "task_version": run.benchmark_version or 0,
            "task_display_name": run.benchmark_title,
            "tags": list(run.tags),
            "dataset": {"name": run.benchmark, "samples": len(ids), "sample_ids": ids, "shuffled": False},
            "model": run.model,
            "model_generate_config": {**generate, **({} if settings.top_p is None else {"top_p": settings.top_p})},
            "model_args": {},
            "config": {"epochs": selection.trials},
            "packages": {OURS: mesocosm.__version__},
            "metadata": {EXPORTED: run.id, "agent": run.agent, "benchmark_digest": run.benchmark_digest},
            "scorers": [{"name": name, "options": {}} for name in scores],
        },
        "plan": {"name": "plan", "steps": [{"solver": run.agent or OURS, "params": {}}], "config": {}},
        "results": _results(run, len(summaries)),
        "stats": {
            "started_at": moment(run.started_at) or "",
            "completed_at": moment(run.ended_at) or "",
            "model_usage": used,
        },
    }
    if header["status"] == "error":
        header["error"] = _error(run.error or "the run failed")
    return header


def _results(run: Run, completed: int) -> JSON:
    of = {str(one["name"]): str(one["score"]) for one in run.info.get("metrics", ())}
    listed: dict[str, JSON] = {}
    for metric in run.metrics:
        name = of.get(metric.name, metric.name)
        score = listed.setdefault(
            name,
            {
                "name": name,
                "scorer": name,
                "scored_samples": metric.n_scored,
                "unscored_samples": metric.n_planned - metric.n_scored,
                "params": {},
                "metrics": {},
            },
        )
        numbers = {metric.name: metric.value, f"{metric.name}_low": metric.low, f"{metric.name}_high": metric.high}
        score["metrics"] |= {
            key: {"name": key, "value": value, "params": {}}
            for key, value in numbers.items()
            if value is not None and math.isfinite(value)
        }
    found: JSON = {"total_samples": run.counts.planned, "completed_samples": completed, "scores": list(listed.values())}
    primary = run.primary
    if primary is not None and primary.value is not None:
        name = of.get(primary.name, primary.name)
        found["headline"] = {"scorer": name, "score": name, "metric": primary.name}
    return found


def stored_files(files: Sequence[Any], blobs: BlobStore) -> Callable[..., bytes | None]:
    """Return what reads the stored files of a run (`Artifact`s) by name and episode."""
    known = {(one.name, one.episode_id): one.digest for one in files}

    def read(name: str, episode_id: str = "") -> bytes | None:
        digest = known.get((name, episode_id))
        return None if digest is None else blobs.get(digest).data

    return read
