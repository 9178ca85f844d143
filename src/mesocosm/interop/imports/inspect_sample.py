"""Read one sample of an Inspect log: its conversation, calls, tool events, scores, and what our record does not hold.

What an episode has no field for is kept in a file of the episode, KEPT, from which a log can be written again::

    {"sample": the fields that are not in the record,
     "messages": {index of a message of ours: the fields that it does not hold},
     "shown": the ranges of the messages of the sample,
     "events": [[position of our event or null, the fields that it does not hold], …]}
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.redact import Redactor
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.interop.imports.assembly import ForeignSample
from mesocosm.interop.imports.inspect_values import LIMITS, named_values, read_failure, read_score, read_usage
from mesocosm.interop.imports.trace_writer import TraceWriter, ranges

KEPT = "inspect-sample.json"
"""Name of the file of an episode with what its record does not hold."""

JSON = dict[str, Any]

ATTACHED = "attachment://"
_ATTACHMENT = re.compile(r"attachment://([0-9a-fA-F]+)")
_SCORING = frozenset({"scorer", "scorers"})
_LOGGED = frozenset({"info", "input", "approval", "compaction", "interrupt", "sandbox", "subtask", "checkpoint"})
_LABELS, _LABEL_LENGTH = 20, 60
_IMAGE = re.compile(r"data:(?P<type>[^;,]+);base64,(?P<data>.*)", re.DOTALL)
_FINISH = {"max_tokens": "length", "model_length": "length"}


def moment(text: Any) -> float | None:
    """Return an ISO time as UNIX seconds, None for anything else."""
    if not isinstance(text, str) or not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def message_of(raw: Mapping[str, Any]) -> JSON:
    """Return a chat message of Inspect in the form of core.message.Message."""
    role = raw.get("role")
    found: JSON = {"role": role if role in ("system", "user", "assistant", "tool") else "user"}
    content = raw.get("content")
    if isinstance(content, str):
        found["content"] = content
    else:
        parts = [part for part in content or () if isinstance(part, Mapping)]
        thoughts = [str(part.get("reasoning") or part.get("summary") or "") for part in parts if _thinks(part)]
        if any(thoughts):
            found["reasoning"] = "\n".join(thoughts)
        shown = [_part(part) for part in parts if not _thinks(part)]
        found["content"] = shown
    if calls := [call for call in raw.get("tool_calls") or () if isinstance(call, Mapping)]:
        found["tool_calls"] = [tool_call(call) for call in calls]
    if isinstance(raw.get("tool_call_id"), str):
        found["tool_call_id"] = raw["tool_call_id"]
    if raw.get("error"):
        found["failed"] = True
    return found


def tool_call(call: Mapping[str, Any]) -> JSON:
    """Return a tool call in the form of core.message.ToolCall."""
    return {
        "id": str(call.get("id") or ""),
        "name": str(call.get("function") or ""),
        "arguments": call.get("arguments"),
    }


def text_of(content: Any) -> str:
    """Return the text of a message's content in our form."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content or () if isinstance(part, Mapping) and "text" in part)


def _thinks(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "reasoning"


def _part(part: Mapping[str, Any]) -> JSON:
    kind = part.get("type")
    if kind == "text":
        return {"type": "text", "text": str(part.get("text") or "")}
    if kind == "image":
        address = str(part.get("image") or "")
        if inline := _IMAGE.fullmatch(address):
            return {"type": "image", "media_type": inline["type"], "data": inline["data"]}
        return {"type": "image", "url": address}
    if kind == "tool_use":
        return {"type": "text", "text": f"{part.get('name')}({part.get('arguments')}) → {part.get('result')}"}
    return {"type": "text", "text": f"[{kind}]"}


@dataclass(slots=True)
class SampleReader:
    """Reads one sample. `scorer` is the name of the primary one, empty for the first."""

    raw: Mapping[str, Any]
    redactor: Redactor
    scorer: str = ""
    trace: TraceWriter = field(init=False)
    _kept: dict[int, JSON] = field(default_factory=dict)
    _events: list[list[Any]] = field(default_factory=list)
    _spans: list[tuple[str, bool]] = field(default_factory=list)
    _scoring: bool = False
    _graded: bool = False
    _calls: int = 0

    def read(self) -> ForeignSample:
        """Return the sample. Raises KeyError, TypeError or ValueError for what is no sample of Inspect."""
        raw = self.raw
        started = moment(raw.get("started_at"))
        events = [event for event in raw.get("events") or () if isinstance(event, Mapping)]
        if started is None:
            started = next((at for event in events if (at := moment(event.get("timestamp"))) is not None), 0.0)
        self.trace = TraceWriter(self.redactor, started)
        task, trial = self._task(), int(raw.get("epoch") or 1) - 1
        self.trace.event(Kind.EPISODE_START, {"task": task.id, "trial": trial}, started)
        pool = (raw.get("events_data") or {}).get("messages") or []
        for event in events:
            self._event(event, pool)
        shown = [self._message(message) for message in raw.get("messages") or ()]
        ended = moment(raw.get("completed_at"))
        scores = list(self._scores())
        error = raw.get("error")
        failure = None
        if isinstance(error, Mapping):
            failure = read_failure(error, scoring=self._graded, asked=self._calls > 0)
        status, facts = self._ended(failed=failure is not None and not scores)
        primary = self._primary()
        self.trace.event(Kind.EPISODE_END, {"status": status, "steps": self.trace.step, "total_reward": 0.0}, ended)
        return ForeignSample(
            task=task,
            trial=trial,
            status=status,
            started_at=started,
            ended_at=ended,
            scores=scores,
            failure=failure if status is EpisodeStatus.FAILED else None,
            usage=self._usage(),
            retries=len(raw.get("error_retries") or ()),
            steps=self.trace.step,
            answer=primary.get("answer") or self._completion(),
            why=self._why(primary, scores),
            facts=facts,
            trace=self.trace,
            files={KEPT: self._rest(shown)},
        )

    def _task(self) -> Task:
        raw = self.raw
        given = raw["input"]
        if isinstance(given, list):
            given = [message_of(self._resolved(message)) for message in given]
        else:
            given = self._resolved(given)
        if raw.get("choices"):
            given = {"input": given, "choices": raw["choices"]}
        labels = {
            str(name): str(value)
            for name, value in (raw.get("metadata") or {}).items()
            if isinstance(value, str | bool) and 0 < len(str(value)) <= _LABEL_LENGTH and ATTACHED not in str(value)
        }
        few = dict(list(labels.items())[:_LABELS])
        return Task(str(raw["id"]), input=given, target=self._resolved(raw.get("target")), labels=few)

    def _resolved(self, value: Any) -> Any:
        """Return a value with the texts that stand in the sample's attachments in place."""
        if isinstance(value, str):
            if not value.startswith(ATTACHED):
                return value
            return self.raw.get("attachments", {}).get(value.removeprefix(ATTACHED), value)
        if isinstance(value, Mapping):
            return {name: self._resolved(inner) for name, inner in value.items()}
        return [self._resolved(inner) for inner in value] if isinstance(value, list) else value

    def _message(self, raw: Any, at: float | None = None) -> int:
        if not isinstance(raw, Mapping):
            raise TypeError(f"a message is {raw!r:.100}")
        message = message_of(self._resolved(raw))
        place = self.trace.message(message, at, key=json.dumps(raw, sort_keys=True))
        if place not in self._kept:
            rest = {name: value for name, value in raw.items() if name not in ("role", "content", "tool_calls")}
            if message["role"] != raw.get("role"):
                rest["role"] = raw.get("role")
            if not isinstance(raw.get("content"), str):
                rest["content"] = raw.get("content")
            calls = raw.get("tool_calls")
            if calls and not all(isinstance(call, Mapping) and call.keys() == _CALL for call in calls):
                rest["tool_calls"] = calls
            self._kept[place] = rest
        return place

    def _event(self, event: Mapping[str, Any], pool: Sequence[Any]) -> None:
        kind, at = event.get("event"), moment(event.get("timestamp"))
        if kind == "model":
            self._model(event, pool, at)
        elif kind == "tool":
            self._tool(event, at)
        else:
            if kind == "span_begin":
                self._spans.append((str(event.get("id")), self._scoring))
                self._scoring = self._scoring or event.get("type") in _SCORING
                self._graded = self._graded or self._scoring
            elif kind == "span_end":
                self._close(str(event.get("id")))
            self._events.append([self._noted(kind, event, at), dict(event)])

    def _close(self, span: str) -> None:
        names = [name for name, _ in self._spans]
        if span in names:
            place = names.index(span)
            self._scoring = self._spans[place][1]
            del self._spans[place:]

    def _noted(self, kind: Any, event: Mapping[str, Any], at: float | None) -> int | None:
        """Record an event that is no call; return its position, None for one that only Inspect needs."""
        if kind == "error":
            error = event.get("error")
            if isinstance(error, Mapping):
                failure = read_failure(error, scoring=self._graded, asked=self._calls > 0)
                return self.trace.event(Kind.ERROR, self.trace.outline(_plain(failure)), at)
        if kind == "score" and isinstance(score := event.get("score"), Mapping):
            said = {"name": str(event.get("scorer") or ""), "value": _readable(score.get("value"))}
            said |= {name: score[name] for name in ("answer", "explanation") if score.get(name)}
            if event.get("intermediate"):
                said["intermediate"] = True
            return self.trace.event(Kind.SCORE, self.trace.outline(self._resolved(said)), at)
        if kind == "sample_limit":
            return self.trace.event(Kind.WARNING, {"message": str(event.get("message") or event.get("type"))}, at)
        if kind == "logger":
            message = event.get("message")
            text = message.get("message") if isinstance(message, Mapping) else message
            return self.trace.event(Kind.LOG, {"message": self.trace.outline(str(self._resolved(text)))}, at)
        if kind in _LOGGED:
            rest = {name: value for name, value in event.items() if name not in _ENVELOPE and value is not None}
            text = json.dumps(self._resolved(rest), ensure_ascii=False)
            return self.trace.event(Kind.LOG, {"message": self.trace.outline(f"{kind}: {text}")}, at)
        return None

    def _model(self, event: Mapping[str, Any], pool: Sequence[Any], at: float | None) -> None:
        begun = at
        asked = [pool[place] for first, end in event.get("input_refs") or () for place in range(first, end)]
        messages = [self._message(one, begun) for one in [*(event.get("input") or ()), *asked]]
        output = event.get("output") or {}
        choice: Mapping[str, Any] = next(iter(output.get("choices") or ()), {})
        reply = message_of(self._resolved(choice.get("message") or {"role": "assistant", "content": ""}))
        reply["content"] = text_of(reply["content"]) or str(self._resolved(output.get("completion")) or "")
        role = event.get("role") or ("judge" if self._scoring else None)
        self._calls += role is None
        reason = choice.get("stop_reason")
        usage = read_usage(output.get("usage"), 1)
        spent = {name: getattr(usage, name) for name in Usage.__struct_fields__}
        seconds = output.get("time")
        place = self.trace.call(
            str(event.get("model") or output.get("model") or ""),
            messages,
            reply,
            at=moment(event.get("completed")) or at,
            usage=spent,
            role=role,
            latency_s=seconds if isinstance(seconds, int | float) else None,
            finish_reason=_FINISH.get(str(reason), reason),
            request=self._request(event),
            cached=True if event.get("cache") == "read" else None,
            retries=event.get("retries") or None,
            error=self._resolved(event.get("error")),
        )
        self._events.append([place, {name: value for name, value in event.items() if name not in _INPUT}])

    def _request(self, event: Mapping[str, Any]) -> JSON | None:
        config = event.get("config") or {}
        found = {name: config[name] for name in ("temperature", "max_tokens", "seed") if config.get(name) is not None}
        if config.get("stop_seqs"):
            found["stop"] = config["stop_seqs"]
        if event.get("tools"):
            found["tools"] = self.trace.compact(self._resolved(event["tools"]))
        return found or None

    def _tool(self, event: Mapping[str, Any], at: float | None) -> None:
        called: JSON = {
            "id": str(event.get("id") or ""),
            "name": str(event.get("function") or ""),
            "arguments": self._resolved(event.get("arguments")),
            "result": _result(self._resolved(event.get("result"))),
        }
        if isinstance(event.get("error"), Mapping):
            called["error"] = str(event["error"].get("message") or event["error"].get("type"))
        place = self.trace.event(Kind.TOOL_CALL, self.trace.outline(called), at)
        self._events.append([place, dict(event)])

    def _scores(self) -> Iterator[Score]:
        for scorer, score in (self.raw.get("scores") or {}).items():
            if isinstance(score, Mapping):
                explained = self._resolved(dict(score))
                for name, value in named_values(str(scorer), score.get("value")):
                    yield read_score(name, value, explained)

    def _primary(self) -> Mapping[str, Any]:
        scores = self.raw.get("scores") or {}
        found = scores.get(self.scorer) or next(iter(scores.values()), None)
        return self._resolved(dict(found)) if isinstance(found, Mapping) else {}

    def _completion(self) -> Any:
        return self._resolved((self.raw.get("output") or {}).get("completion") or None)

    def _why(self, primary: Mapping[str, Any], scores: Sequence[Score]) -> str:
        best = next(iter(scores), None)
        if best is None or best.value is None or best.value >= 1:
            return ""
        return str(primary.get("explanation") or "")

    def _ended(self, *, failed: bool) -> tuple[EpisodeStatus, JSON]:
        raw, facts = self.raw, {}
        facts = {name: raw[name] for name in ("total_time", "working_time") if raw.get(name) is not None}
        limit = raw.get("limit")
        if failed:
            return EpisodeStatus.FAILED, facts
        if not isinstance(limit, Mapping):
            return EpisodeStatus.COMPLETED, facts
        status, reason = LIMITS.get(str(limit.get("type")), (EpisodeStatus.TRUNCATED, "step_limit"))
        return status, {**facts, "reason": reason, "limit": dict(limit)}

    def _usage(self) -> Usage:
        total = NOTHING
        for used in (self.raw.get("model_usage") or {}).values():
            total += read_usage(used)
        calls = sum(1 for event in self.raw.get("events") or () if event.get("event") == "model")
        return Usage(total.prompt, total.completion, total.cached, total.reasoning, total.cost_usd, calls)

    def _rest(self, shown: Sequence[int]) -> bytes:
        """Return the content of KEPT."""
        sample = {name: value for name, value in self.raw.items() if name not in ("messages", "events", "attachments")}
        pooled = self.raw.get("events_data")
        sample.pop("events_data", None)
        if isinstance(pooled, Mapping) and (rest := {name: v for name, v in pooled.items() if name != "messages"}):
            sample["events_data"] = rest
        kept = {
            "form": 1,
            "sample": sample,
            "messages": {str(place): rest for place, rest in self._kept.items()},
            "shown": ranges(shown),
            "events": self._events,
        }
        text = json.dumps(kept, ensure_ascii=False)
        named = set(_ATTACHMENT.findall(text))
        attached = self.raw.get("attachments") or {}
        kept["attachments"] = {name: attached[name] for name in attached if name in named}
        # A lone surrogate has no form in UTF-8.
        return json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace")


_CALL = {"id", "function", "arguments", "type"}
_INPUT = frozenset({"input", "input_refs"})
_ENVELOPE = frozenset({"uuid", "span_id", "timestamp", "working_start", "event", "pending", "metadata"})


def _plain(failure: Any) -> JSON:
    return {name: getattr(failure, name) for name in failure.__struct_fields__ if getattr(failure, name)}


def _readable(value: Any) -> Any:
    """Return a value of a score as JSON has it: NaN as text."""
    return str(value) if isinstance(value, float) and value != value else value  # noqa: PLR0124


def _result(value: Any) -> Any:
    """Return the result of a tool: its text, or its parts as text."""
    if isinstance(value, list):
        return "\n".join(
            str(part.get("text") or f"[{part.get('type')}]") for part in value if isinstance(part, Mapping)
        )
    return value
