"""What an episode of verifiers says: scores where it was scored, a cause where not."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import Failed, finite

REWARD = "reward"
"""Name of the primary score: what the framework calls the reward of an episode."""

_CAUSES = {
    "ProviderError": "program_failed",
    "HarnessError": "program_failed",
    "InterceptionError": "environment_unreachable",
    "TunnelError": "environment_unreachable",
    "SandboxError": "environment_unreachable",
}
"""Causes by the boundary at which a rollout failed. The engine blames the model for a `program_failed` if it was it."""
_TOO_LONG = ("context_length_exceeded", "maximum context length", "context window")
_NOT_OF_GRADERS = frozenset({"ProviderError", "SandboxError", "InterceptionError"})


def outcome(env: Any, episode: Any) -> dict[str, Any]:
    """Return how an episode ended. Raises Failed if it has no result."""
    traces: Sequence[Any] = episode.traces
    scoring = next((why for trace in traces if (why := _unscored(trace))), None)
    failed = [trace for trace in traces if not trace.ok and trace.errors and _unscored(trace) is None]
    if not env.complete(episode) and (failed or scoring is None):
        raise _failure(episode, failed)
    idle = next((trace for trace in traces if trace.is_timeout and not trace.num_turns), None)
    if idle is not None:
        raise Failed(
            f"{_who(idle, traces)}ended by {idle.stop_condition} before the model was asked", "program_timeout"
        )
    played = [trace for trace in traces if trace.agent.trainable] or list(traces)
    timeout = any(trace.is_timeout for trace in traces)
    truncated = any(trace.is_truncated for trace in traces)
    return {
        "status": "timeout" if timeout else "truncated" if truncated else "completed",
        "scores": list(_scores(traces, played, scoring)),
        "answer": played[-1].last_reply if played else None,
        "info": _info(episode),
    }


def _unscored(trace: Any) -> str | None:
    """Return why the graders gave no scores to a trace that was played to its end; None if they did."""
    if trace.stop_condition == "scoring_timeout":
        return "grader_timeout"
    last = trace.last_error
    if trace.ok or last is None or last.type in _NOT_OF_GRADERS or not trace.timing.scoring.start:
        return None
    return "grader_error"


def _failure(episode: Any, failed: Sequence[Any]) -> Failed:
    """Return why an episode has no result: the error of an agent, else that of the episode.

    What a hook of the environment raises is often only the consequence of a rollout that had failed.
    """
    if episode.is_timeout:
        return Failed(episode.last_error.message, "environment_timeout")
    if failed:
        return _failed(failed[0].last_error, _who(failed[0], episode.traces))
    if episode.last_error is not None:
        return _failed(episode.last_error, "")
    return Failed("the environment calls its episode incomplete, without an error", "environment_invalid")


def _failed(error: Any, who: str) -> Failed:
    cause = _CAUSES.get(error.type, "environment_error")
    if error.type == "ProviderError" and any(words in error.message for words in _TOO_LONG):
        cause = "context_overflow"
    return Failed(f"{who}{error.type}: {error.message}", cause, error.traceback or "")


def _who(trace: Any, traces: Sequence[Any]) -> str:
    return f"{trace.agent.name}: " if len(traces) > 1 else ""


def _scores(traces: Sequence[Any], played: Sequence[Any], missing: str | None) -> Iterator[dict[str, Any]]:
    """Yield the reward first, then the parts: rewards without their weights, and metrics.

    Of several agents, the parts are called `AGENT.NAME`; of several rollouts of one agent, they are means.
    """
    by_agent: dict[str, list[Any]] = {}
    for trace in traces:
        by_agent.setdefault(trace.agent.name, []).append(trace)
    yield _score(REWARD, [_total(trace) for trace in played], missing)
    for agent, own in by_agent.items():
        prefix = f"{agent}." if len(by_agent) > 1 else ""
        if prefix:
            yield _score(prefix + REWARD, [_total(trace) for trace in own], missing)
        rewards = {name: None for trace in own for name in trace.rewards}
        for name in rewards:
            shown = f"{prefix}rewards.{name}" if name == REWARD else prefix + name
            yield _score(shown, [_part(trace.rewards[name]) for trace in own if name in trace.rewards], missing)
        for name in {name: None for trace in own for name in trace.metrics}:
            shown = f"{prefix}metrics.{name}" if name in rewards or name == REWARD else prefix + name
            yield _score(shown, [trace.metrics[name] for trace in own if name in trace.metrics], missing)


def _score(name: str, values: Sequence[float | None], missing: str | None) -> dict[str, Any]:
    """Return the mean of `values`. It is missing with one of them: for `missing`, or for what is wrong with it."""
    numbers = [number for value in values if (number := finite(value)) is not None]
    if values and len(numbers) == len(values):
        return {"name": name, "value": sum(numbers) / len(numbers)}
    unscored = not values or any(value is None for value in values)
    return {"name": name, "value": None, "missing": missing or ("value_missing" if unscored else "value_unusable")}


def _part(reward: Any) -> float | None:
    return None if reward is None else reward.score


def _total(trace: Any) -> float | None:
    """Return Σ score · weight; None if a part of it was not scored, or nothing was."""
    rewards = list(trace.rewards.values())
    if not trace.ok or not rewards or any(one is None for one in rewards):
        return None
    return sum(one.value for one in rewards)


def _info(episode: Any) -> dict[str, Any]:
    """Return what the trace of an episode does not say, for people and for exports."""
    agents = [_agent(trace, alone=len(episode.traces) == 1) for trace in episode.traces]
    found: dict[str, Any] = {
        "stop_condition": agents[0]["stop_condition"],
        "turns": sum(one["turns"] for one in agents),
    }
    return found | {"verifiers": {"env": episode.env.id, "task": _task(episode.task), "agents": agents}}


def _task(task: Any) -> Mapping[str, Any]:
    return {"type": task.type, "key": task.key, "hash": task.hash}


def _agent(trace: Any, *, alone: bool) -> dict[str, Any]:
    rewards = {
        name: None if one is None else {"score": finite(one.score), "weight": finite(one.weight)}
        for name, one in trace.rewards.items()
    }
    return {
        "name": trace.agent.name,
        "trainable": trace.agent.trainable,
        "harness": trace.agent.config.harness.id if trace.agent.config.harness is not None else "",
        "runtime": trace.agent.config.runtime.type,
        "stop_condition": trace.stop_condition,
        "turns": trace.num_turns,
        "rewards": rewards,
        "metrics": {name: None if value is None else finite(value) for name, value in trace.metrics.items()},
        "calls": [] if alone else list(_call_keys(trace)),
        "info": trace.info,
        "errors": [{"type": one.type, "message": one.message} for one in trace.errors],
    }


def _call_keys(trace: Any) -> Iterator[str]:
    """Yield a key of each call: with it, exports tell which agent made it (mesocosm.interop.verifiers_traces)."""
    for node in trace.nodes:
        if node.sampled:
            asked = trace.nodes[node.parent].message.content if node.parent is not None else ""
            key = json.dumps([_text(asked), _text(node.message.content)])
            yield hashlib.sha256(key.encode()).hexdigest()[:16]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content or () if part.type == "text")


def in_file(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of an episode as the framework's own file has them, by our names, and why it failed."""
    values: dict[str, list[float | None]] = {}
    traces = record["traces"]
    trained = [trace for trace in traces if trace["agent"]["trainable"]] or traces
    several = len({trace["agent"]["name"] for trace in traces}) > 1
    for trace in traces:
        rewards, metrics = trace.get("rewards", {}), trace.get("metrics", {})
        known = [one["score"] * one["weight"] for one in rewards.values() if one and one.get("score") is not None]
        total = sum(known) if trace["ok"] and rewards and len(known) == len(rewards) else None
        prefix = f"{trace['agent']['name']}." if several else ""
        if any(trace is one for one in trained):
            values.setdefault(REWARD, []).append(total)
        if several:
            values.setdefault(prefix + REWARD, []).append(total)
        for name, one in rewards.items():
            shown = f"{prefix}rewards.{name}" if name == REWARD else prefix + name
            values.setdefault(shown, []).append(one.get("score") if one else None)
        for name, one in metrics.items():
            shown = f"{prefix}metrics.{name}" if name in rewards or name == REWARD else prefix + name
            values.setdefault(shown, []).append(one)
    errors = [error for holder in (record, *traces) for error in holder.get("errors", [])]
    failed = "" if record["ok"] or not errors else f"{errors[0]['type']}: {errors[0]['message']}"
    return {"scores": [_score(name, found, None) for name, found in values.items()], "failed": failed}
