"""Write a run as `traces.jsonl` of verifiers 0.4: an episode a line, which its tools and trainers read.

The messages of a trace are a graph: each is stored once, after the one before it. Runs of any benchmark can be written;
for those of verifiers, the agents, the weights of rewards and what stopped an episode are the framework's own.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import mesocosm
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.ids import digest
from mesocosm.core.run import Run
from mesocosm.core.task import ROW
from mesocosm.interop.conversation import ConversationSource, EpisodeConversation, conversations, text_of
from mesocosm.interop.files import replacing
from mesocosm.interop.samples import SampleRules, finite

TRACE_VERSION = 1

JSON = dict[str, Any]

_STOPS = {
    EpisodeStatus.COMPLETED: "agent_completed",
    EpisodeStatus.TRUNCATED: "max_turns",
    EpisodeStatus.TIMEOUT: "agent_timeout",
}
_REASONS = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}
_encode = msgspec.json.Encoder().encode


def write_traces(run: Run, store: ConversationSource, path: Path) -> int:
    """Write the finished episodes of a run to `path` atomically; return their number. Raises UsageError."""
    count = 0
    with replacing(path) as file:
        for episode, said in conversations(store, run.id):
            if episode.status in FINISHED:
                file.write(_encode(episode_record(run, episode, said)) + b"\n")
                count += 1
    return count


def episode_record(run: Run, episode: Episode, said: EpisodeConversation) -> JSON:
    """Return the record of an episode."""
    own = episode.terminal_info.get("verifiers")
    told: Mapping[str, Any] = own if isinstance(own, Mapping) else {}
    task = _task(episode, told.get("task") or {})
    agents: Sequence[Mapping[str, Any]] = told.get("agents") or [_agent(run, episode)]
    traces = [
        _trace(run, episode, task, agent, calls, said)
        for agent, calls in zip(agents, _shared(agents, said), strict=True)
    ]
    errors = [] if episode.failure is None else [_error(episode)]
    return {
        "id": episode.id,
        "env": {"id": str(told.get("env") or run.benchmark)},
        "task": task,
        "run": {"type": "eval", "id": run.id, **({"name": run.name} if run.name else {})},
        "ok": episode.failure is None,
        "is_timeout": False,
        "errors": errors,
        "traces": traces,
    }


def call_key(asked: str, reply: str) -> str:
    """Return what tells the calls of several agents apart: the last message of a request, and the reply."""
    return hashlib.sha256(json.dumps([asked, reply]).encode()).hexdigest()[:16]


def _shared(agents: Sequence[Mapping[str, Any]], said: EpisodeConversation) -> list[list[Mapping[str, Any]]]:
    """Return the calls of each agent; those that none of them knows are the first one's."""
    if len(agents) == 1:
        return [list(said.calls)]
    shares: list[list[Mapping[str, Any]]] = [[] for _ in agents]
    open_keys = [list(agent.get("calls") or ()) for agent in agents]
    for call in said.calls:
        places = _places(call)
        asked = text_of(said.recorded[places[-1]].get("content")) if places and places[-1] in said.recorded else ""
        key = call_key(asked, text_of(call.get("text") or ""))
        owner = next((number for number, keys in enumerate(open_keys) if key in keys), None)
        if owner is not None:
            open_keys[owner].remove(key)
        shares[owner or 0].append(call)
    return shares


def _task(episode: Episode, told: Mapping[str, Any]) -> JSON:
    shown = episode.input
    data: JSON = {"idx": episode.terminal_info.get(ROW, episode.index), "id": episode.task_id, "prompt": _prompt(shown)}
    target = episode.target
    if isinstance(target, Mapping):
        data |= {str(name): value for name, value in target.items() if name not in data}
    elif target is not None:
        data["answer"] = target
    hashed = str(told.get("hash") or episode.task_digest)
    return {
        "type": str(told.get("type") or "Task"),
        "data": data,
        "key": str(told.get("key") or hashed),
        "hash": hashed,
    }


def _prompt(shown: Any) -> Any:
    if isinstance(shown, list) and shown and all(isinstance(one, Mapping) and "role" in one for one in shown):
        return [_message(one) for one in shown]
    return shown if isinstance(shown, str) or shown is None else json.dumps(shown, ensure_ascii=False)


def _agent(run: Run, episode: Episode) -> JSON:
    """Return what is known of the one agent of an episode that verifiers did not play."""
    primary = SampleRules.of(run).primary
    values = {score.name: None if score.value is None else finite(score.value) for score in episode.scores}
    reward = {primary: None if values.get(primary) is None else {"score": values[primary], "weight": 1.0}}
    return {
        "name": "agent",
        "trainable": True,
        "harness": run.agent,
        "stop_condition": "error" if episode.failure is not None else _STOPS.get(episode.status, "agent_completed"),
        "rewards": reward if primary else {},
        "metrics": {name: value for name, value in values.items() if name != primary},
    }


def _trace(
    run: Run,
    episode: Episode,
    task: JSON,
    agent: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]],
    said: EpisodeConversation,
) -> JSON:
    graph = _Graph(said)
    recorded = [graph.take(call, run.model) for call in calls]
    failed = [_error(episode)] if episode.failure is not None else list(agent.get("errors") or ())
    settings = run.spec.model
    return {
        "version": TRACE_VERSION,
        "id": digest([episode.id, agent.get("name"), len(graph.nodes)]),
        "verifiers": {"version": _version(run)},
        "task": task,
        "agent": {
            "config": {
                "harness": {"id": str(agent.get("harness") or "")},
                "runtime": {"type": str(agent.get("runtime") or "subprocess")},
                "model": run.model,
                "sampling": {"temperature": settings.temperature, "max_tokens": settings.max_tokens},
            },
            "name": str(agent.get("name") or "agent"),
            "trainable": agent.get("trainable") is not False,
        },
        "nodes": graph.nodes,
        "calls": recorded,
        "rewards": dict(agent.get("rewards") or {}),
        "metrics": dict(agent.get("metrics") or {}),
        "info": dict(agent.get("info") or {}),
        "is_completed": True,
        "ok": not failed,
        "stop_condition": agent.get("stop_condition"),
        "is_timeout": episode.status is EpisodeStatus.TIMEOUT,
        "errors": failed,
        "timing": {
            "start": episode.started_at,
            "agent": {"start": episode.started_at, "end": episode.ended_at or episode.started_at},
        },
    }


def _version(run: Run) -> str:
    packages = (run.info.get("card") or {}).get("packages") or {}
    return str(packages.get("verifiers") or f"mesocosm {mesocosm.__version__}")


def _error(episode: Episode) -> JSON:
    assert episode.failure is not None
    return {"type": str(episode.failure.cause), "message": episode.failure.message}


class _Graph:
    """The messages of some calls, each once, after the one before it."""

    def __init__(self, said: EpisodeConversation) -> None:
        self.nodes: list[JSON] = []
        self._said = said
        self._known: dict[tuple[int | None, str], int] = {}

    def take(self, call: Mapping[str, Any], model: str) -> JSON:
        """Add the messages of a call and its reply; return its record."""
        at = finite(call.get("at")) or 0.0
        parent: int | None = None
        for place in _places(call):
            if place in self._said.recorded:
                parent = self._node(parent, _message(self._said.recorded[place]), at)
        error = call.get("error")
        node = None
        if not error:
            node = self._node(parent, _message({**call, "role": "assistant", "content": call.get("text")}), at)
            self.nodes[node]["sampled"] = True
        usage = call.get("usage") or {}
        cached = int(usage.get("cached") or 0)
        spent = finite(call.get("latency_s")) or 0.0
        found: JSON = {
            "node": node,
            "model": str(call.get("model") or model),
            "endpoint": call.get("path"),
            "finish_reason": _REASONS.get(str(call.get("finish_reason"))),
            "usage": {
                "prompt_tokens": max(int(usage.get("prompt") or 0) - cached, 0),
                "completion_tokens": int(usage.get("completion") or 0),
                "cached_input_tokens": cached,
                "reasoning_tokens": int(usage.get("reasoning") or 0),
                "cost": finite(usage.get("cost_usd")),
            },
            "time": {"start": max(at - spent, 0.0), "end": at},
        }
        return {**found, "error": {"type": "ProviderError", "message": str(error)}} if error else found

    def _node(self, parent: int | None, message: JSON, at: float) -> int:
        # A reply comes back in the next request without what was said beside it, and perhaps in another form.
        name = digest([message["role"], text_of(message.get("content")), message.get("tool_calls") or []])
        key = (parent, name if message["role"] != "tool" else digest([name, message["tool_call_id"]]))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.nodes)
            self.nodes.append({"parent": parent, "message": message, "sampled": False, "timestamp": at})
        return known


def _places(call: Mapping[str, Any]) -> list[int]:
    return [place for first, last in call.get("messages") or () for place in range(first, last + 1)]


def _message(raw: Mapping[str, Any]) -> JSON:
    role = raw.get("role")
    if role == "assistant":
        return {"role": "assistant", **dict(_said(raw))}
    content = _content(raw.get("content"))
    if role == "tool":
        return {"role": "tool", "tool_call_id": str(raw.get("tool_call_id") or ""), "content": content}
    return {"role": "system" if role in ("system", "developer") else "user", "content": content}


def _said(raw: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "content", text_of(raw.get("content")) or None
    thought = raw.get("reasoning") or raw.get("reasoning_content")
    if isinstance(thought, str) and thought:
        yield "reasoning_content", thought
    calls = [one for one in raw.get("tool_calls") or () if isinstance(one, Mapping)]
    if calls:
        yield "tool_calls", [_call(one, place) for place, one in enumerate(calls)]


def _call(raw: Mapping[str, Any], place: int) -> JSON:
    function = raw.get("function")
    named = function if isinstance(function, Mapping) else raw
    given = named.get("arguments")
    arguments = given if isinstance(given, str) else json.dumps({} if given is None else given, ensure_ascii=False)
    return {"id": str(raw.get("id") or f"call_{place}"), "name": str(named.get("name") or ""), "arguments": arguments}


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    return [_part(part) for part in content]


def _part(part: Any) -> JSON:
    if isinstance(part, Mapping) and part.get("type") == "image":
        data = f"data:{part.get('media_type') or 'image/png'};base64,{part.get('data') or ''}"
        return {"type": "image_url", "image_url": {"url": str(part.get("url") or data)}}
    text = part.get("text") if isinstance(part, Mapping) else part
    return {"type": "text", "text": str(text if text is not None else "")}
