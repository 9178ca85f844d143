"""Convert an episode to a trajectory in the Agent Trajectory Interchange Format (ATIF) 1.7."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

import mesocosm
from mesocosm.core.episode import Episode
from mesocosm.core.run import Run
from mesocosm.interop.conversation import EpisodeConversation, Said, text_of
from mesocosm.interop.record import moment
from mesocosm.interop.samples import SampleRules, finite, primary_score

SCHEMA = "ATIF-v1.7"

_SOURCES = {"system": "system", "developer": "system", "user": "user", "assistant": "agent"}

JSON = dict[str, Any]


def trajectory(run: Run, episode: Episode, said: EpisodeConversation) -> JSON | None:
    """Return the trajectory document of an episode, or None without messages: a trajectory needs at least one step.

    Results of tools belong to the step that called them. The cost of each call is included if there are as many calls
    as messages of the agent; the totals cover the whole episode.
    """
    steps = _steps(said.messages(episode), run.model)
    if not steps:
        return None
    _price(steps, said.calls)
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
        "extra": {"osmosis": _extra(run, episode, said)},
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
        usage = call.get("usage") or {}
        step["timestamp"] = moment(call.get("at"))
        step["llm_call_count"] = 1
        step["metrics"] = {
            "prompt_tokens": usage.get("prompt", 0),
            "completion_tokens": usage.get("completion", 0),
            "cached_tokens": usage.get("cached", 0),
            "cost_usd": finite(usage.get("cost_usd")),
        }
