"""Convert an episode to a trajectory in the Agent Trajectory Interchange Format (ATIF) 1.7.

The messages are those that a rollout says it ended with. Otherwise each model call of the agent is a step, after what
its prompt held that was not said before. An agent without a model took actions: each is a step without a call.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import mesocosm
from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.event import Kind
from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run
from mesocosm.interop.conversation import EpisodeConversation, Said, conversations, text_of
from mesocosm.interop.files import replacing
from mesocosm.interop.older_index import record
from mesocosm.interop.record import moment
from mesocosm.interop.samples import SampleInput, SampleRules, finite, primary_score

SCHEMA = "ATIF-v1.7"

_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}

JSON = dict[str, Any]


def trajectory(run: Run, episode: Episode, said: EpisodeConversation) -> JSON | None:
    """Return the trajectory document of an episode, or None without any step: a trajectory needs at least one.

    Results of tools belong to the step that called them. The cost of each call is included; for messages that a rollout
    states, only if there are as many calls as messages of the agent. The totals cover the whole episode.
    """
    stated = said.stated(episode)
    if stated or not said.calls:
        steps = _steps(stated or said.messages(episode), run.model)
        _price(steps, said.calls)
        if all(step["source"] != "agent" for step in steps):
            steps = _played(said, run.model) or steps
    else:
        steps = _called(said, run.model)
    if not steps:
        return None
    usage = episode.usage
    return {
        "schema_version": SCHEMA,
        "session_id": episode.id,
        "trajectory_id": episode.id,
        "agent": {"name": run.agent or "mesocosm", "version": mesocosm.__version__, "model_name": run.model},
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": usage.prompt,
            "total_completion_tokens": usage.completion,
            "total_cached_tokens": usage.cached,
            "total_cost_usd": finite(usage.cost_usd),
            "total_steps": len(steps),
        },
        "extra": {"osmosis": _extra(run, episode, said), "mesocosm": _origin(run, episode)},
    }


def _extra(run: Run, episode: Episode, said: EpisodeConversation) -> JSON:
    score = primary_score(episode, SampleRules.of(run))
    info = episode.terminal_info
    label = said.ended.get("label") if isinstance(said.ended, Mapping) else None
    begun = said.begun if isinstance(said.begun, Mapping) else {}
    return {
        "rollout_id": episode.id,
        "row_index": info.get("row"),
        "run_index": episode.trial,
        "label": label,
        "reward": None if score is None else finite(score.value),
        "sample_metrics": info.get("metrics") or {},
        "sample_extra_fields": info.get("extra") or {},
        "request_metadata": begun.get("metadata"),
        "labels": episode.labels,
        "status": str(episode.status),
        "failure": None if episode.failure is None else msgspec.to_builtins(episode.failure),
    }


def _origin(run: Run, episode: Episode) -> JSON:
    """Return what identifies an episode, by which an import gives it the same task and trial."""
    score = primary_score(episode, SampleRules.of(run))
    return {
        "run": run.id,
        "benchmark": run.benchmark,
        "task": episode.task_id,
        "task_digest": episode.task_digest,
        "trial": episode.trial,
        "reward": None if score is None else finite(score.value),
        "scores": {one.name: finite(one.value) for one in episode.scores},
        "labels": episode.labels,
        "status": str(episode.status),
        "failure": None if episode.failure is None else msgspec.to_builtins(episode.failure),
    }


def _called(said: EpisodeConversation, model: str) -> list[JSON]:
    """Return a step for each model call, and before it for each message of its prompt that was not said before."""
    steps: list[JSON] = []
    known, replies = set[int](), set[str]()
    for call in said.calls:
        for place in _places(call):
            if place in known or place not in said.recorded:
                continue
            known.add(place)
            message = said.recorded[place]
            role = message.get("role")
            if role == "assistant" and _spoken(message) in replies:
                continue
            if role == "tool" and steps and steps[-1]["source"] == "agent":
                _answer(steps[-1], message)
                continue
            steps.append(_step(len(steps) + 1, role, message, model))
            if role == "assistant":
                steps[-1] |= {"llm_call_count": 0, "is_copied_context": True}
        reply = {"role": "assistant", "content": call.get("text", "")}
        reply |= {name: call[name] for name in ("reasoning", "tool_calls") if call.get(name)}
        replies.add(_spoken(reply))
        steps.append(_step(len(steps) + 1, "assistant", reply, model))
        _bill(steps[-1], call)
    return steps


def _places(call: Mapping[str, Any]) -> Iterator[int]:
    for first, last in call.get("messages") or ():
        yield from range(first, last + 1)


def _spoken(message: Said) -> str:
    """Return what tells replies apart: their text and the names and arguments of the tools that they call."""
    calls = message.get("tool_calls") or ()
    called = [(call.get("name"), call.get("arguments")) for call in calls if isinstance(call, Mapping)]
    return f"{text_of(message.get('content'))}\n{called}"


def _played(said: EpisodeConversation, model: str) -> list[JSON]:
    """Return a step for each action of an agent that called no model, with what it led to; none without an action."""
    steps: list[JSON] = []
    for event in said.played:
        payload = event.payload if isinstance(event.payload, Mapping) else {}
        if event.kind is Kind.ACTION:
            step = _step(len(steps) + 1, "assistant", {"content": _text(payload.get("action"))}, model)
            steps.append({**step, "timestamp": moment(event.at), "llm_call_count": 0})
        elif event.kind is Kind.STEP_RESULT and steps:
            names = ("reward", "terminated", "truncated")
            found = {name: payload[name] for name in names if payload.get(name) is not None}
            steps[-1]["extra"] = {**steps[-1].get("extra", {}), **found}
        elif event.kind is Kind.OBSERVATION:
            shown = _text(payload.get("data"))
            if steps and steps[-1]["source"] == "agent":
                results = steps[-1].setdefault("observation", {"results": []})["results"]
                results.append({"source_call_id": None, "content": shown})
            else:
                step = _step(len(steps) + 1, "user", {"content": shown}, model)
                steps.append({**step, "timestamp": moment(event.at)})
    # Only shown what to do, the agent did nothing.
    return steps if any(step["source"] == "agent" for step in steps) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _steps(messages: Sequence[Said], model: str) -> list[JSON]:
    steps: list[JSON] = []
    for message in messages:
        role = message.get("role")
        if role == "tool" and steps and steps[-1]["source"] == "agent":
            _answer(steps[-1], message)
        else:
            steps.append(_step(len(steps) + 1, role, message, model))
    return steps


def _step(number: int, role: Any, message: Said, model: str) -> JSON:
    source = _SOURCES.get(role, "user") if isinstance(role, str) else "user"
    step: JSON = {"step_id": number, "source": source, "message": text_of(message.get("content"))}
    if not isinstance(role, str) or role not in _SOURCES:
        step["extra"] = {"original_role": role}
    if source != "agent":
        return step
    step["model_name"] = model
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        step["reasoning_content"] = reasoning
    calls = message.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str) and calls:
        step["tool_calls"] = [_call(call, place) for place, call in enumerate(calls) if isinstance(call, Mapping)]
    return step


def _call(call: Mapping[str, Any], place: int) -> JSON:
    function = call.get("function")
    named = function if isinstance(function, Mapping) else call
    arguments = named.get("arguments")
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else {"_raw": arguments}
    elif not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"_raw": arguments}
    return {
        "tool_call_id": str(call.get("id") or f"call_{place}"),
        "function_name": str(named.get("name") or ""),
        "arguments": arguments,
    }


def _answer(step: JSON, message: Said) -> None:
    call = message.get("tool_call_id")
    known = {called["tool_call_id"] for called in step.get("tool_calls", ())}
    result: JSON = {"source_call_id": call if call in known else None, "content": text_of(message.get("content"))}
    if call is not None and call not in known:
        result["extra"] = {"tool_call_id": call}
    step.setdefault("observation", {"results": []})["results"].append(result)


def _price(steps: Sequence[JSON], calls: Sequence[Mapping[str, Any]]) -> None:
    acted = [step for step in steps if step["source"] == "agent"]
    if len(acted) != len(calls):
        return
    for step, call in zip(acted, calls, strict=True):
        _bill(step, call)


def _bill(step: JSON, call: Mapping[str, Any]) -> None:
    """Add what a model call took to its step."""
    usage = call.get("usage") or {}
    step["timestamp"] = moment(call.get("at"))
    step["llm_call_count"] = 1
    step["metrics"] = {
        "prompt_tokens": usage.get("prompt", 0),
        "completion_tokens": usage.get("completion", 0),
        "cached_tokens": usage.get("cached", 0),
        "cost_usd": finite(usage.get("cost_usd")),
    }


def write_trajectories(run: Run, store: SampleInput, folder: Path) -> tuple[int, int]:
    """Write the trajectory of each finished episode into a new or empty directory.

    Return how many were written, and how many episodes have no step. Raises UsageError if the directory holds files.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and not an empty directory; name another one")
    written, without = 0, 0
    for episode, said in conversations(store, run.id):
        if episode.status not in FINISHED:
            continue
        document = trajectory(run, episode, said)
        if document is None:
            without += 1
            continue
        with replacing(folder / f"{record(run, episode, SampleRules.of(run)).name}.json") as file:
            file.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        written += 1
    return written, without
