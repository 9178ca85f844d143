"""Read trajectories in the Agent Trajectory Interchange Format (ATIF 1.0 to 1.8) as runs.

A trajectory says what an agent did, not what it earned. Rewards come from `result.json` of a Harbor trial beside it, or
from a trajectory that mesocosm wrote; without either, the score is missing.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Cause, Failure, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.interop.imports.assembly import ForeignHead, ForeignSample, ImportedRun, assemble
from mesocosm.interop.imports.foreign_json import read_foreign_json
from mesocosm.interop.imports.inspect_sample import moment
from mesocosm.interop.imports.trace_writer import TraceWriter, record_chat

FORM = "atif"
KEPT = "trajectory.json"
"""Name of the file of an episode with the trajectory as it was read."""

OURS = ("mesocosm", "osmosis")
"""Keys in the `extra` of trajectories that mesocosm wrote."""

JSON = dict[str, Any]

REWARD = "reward"
"""Name of the primary score of a trajectory."""

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def is_trajectory(document: Any) -> bool:
    """Return whether a JSON document is a trajectory."""
    return isinstance(document, Mapping) and str(document.get("schema_version")).startswith("ATIF-v1.")


def read_trajectories(files: Sequence[Path], redactor: Redactor) -> Iterator[ImportedRun]:
    """Yield a run for each agent and model, with one episode for each trajectory. Raises UsageError.

    The attempts at one task are its trials. A trajectory that continues another one in the same directory belongs to
    that one.
    """
    loaded = {path: _load(path) for path in files}
    continued = {_beside(path, document) for path, document in loaded.items()} - {None}
    groups: dict[tuple[str, ...], list[_Attempt]] = {}
    for path, document in loaded.items():
        if path.resolve() not in continued:
            attempt = _attempt(path, document)
            groups.setdefault(attempt.group, []).append(attempt)
    if not groups:
        raise UsageError(f"{files[0]} continues itself, so that no trajectory is the first; nothing was imported")
    for group, attempts in groups.items():
        _number(attempts)
        yield _run(group, attempts, redactor)


@dataclass(slots=True)
class _Attempt:
    """One trajectory with what identifies it; `trial` is -1 until it is known."""

    path: Path
    group: tuple[str, ...]
    identity: str
    task: str
    content: Any
    begun: float
    trial: int = -1
    told: JSON = field(default_factory=dict)
    harbor: JSON = field(default_factory=dict)


def _load(path: Path) -> JSON:
    try:
        document = read_foreign_json(path.read_bytes())
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} is not whole JSON: {error}; the file was cut off") from error
    steps = document.get("steps") if isinstance(document, Mapping) else None
    if not is_trajectory(document) or not isinstance(steps, list) or not steps:
        raise UsageError(
            f"{path} is no ATIF trajectory: it needs `schema_version`, `agent` and at least one of `steps`"
        )
    if not all(isinstance(step, Mapping) for step in steps) or not isinstance(document.get("agent"), Mapping):
        raise UsageError(f"{path} is a damaged trajectory: `agent` and each of `steps` must be an object")
    found: JSON = document
    return found


def _beside(path: Path, document: Mapping[str, Any]) -> Path | None:
    """Return the file that continues a trajectory, if it stands in the same directory."""
    named = document.get("continued_trajectory_ref")
    if not isinstance(named, str) or not named:
        return None
    other = (path.parent / Path(named).name).resolve()
    return other if other.is_file() and other != path.resolve() else None


def _attempt(path: Path, document: JSON) -> _Attempt:
    agent = document["agent"]
    extra = document.get("extra")
    ours = [extra.get(name) for name in OURS] if isinstance(extra, Mapping) else []
    told: JSON = next((dict(one) for one in ours if isinstance(one, Mapping)), {})
    harbor = _harbor(path)
    model = str(
        agent.get("model_name") or next((s["model_name"] for s in document["steps"] if s.get("model_name")), "")
    )
    identity = str(document.get("trajectory_id") or document.get("session_id") or path.stem)
    task = str(harbor.get("task_name") or told.get("task") or identity)
    benchmark = str(told.get("benchmark") or harbor.get("source") or ("harbor" if harbor else "atif"))
    begun = next((at for step in document["steps"] if (at := moment(step.get("timestamp"))) is not None), 0.0)
    trial = told.get("trial", told.get("run_index"))
    return _Attempt(
        path=path,
        group=(
            benchmark,
            str(agent.get("name") or "agent"),
            str(agent.get("version") or ""),
            model or "unknown/unknown",
        ),
        identity=identity,
        task=task,
        content=told.get("input") or {"task": harbor.get("task_checksum") or task},
        begun=moment(harbor.get("started_at")) or begun,
        trial=trial if isinstance(trial, int) and not harbor and "task" in told else -1,
        told=told,
        harbor=harbor,
    )


def _harbor(path: Path) -> JSON:
    """Return the result of the Harbor trial that a trajectory was written by; {} if there is none."""
    for place in (path.parent.parent, path.parent):
        file = place / "result.json"
        if file.is_file():
            try:
                found = read_foreign_json(file.read_bytes())
            except (ValueError, OSError) as error:
                raise UsageError(f"{file} beside {path} is not whole JSON: {error}; nothing was imported") from error
            if isinstance(found, dict) and "task_name" in found and "trial_name" in found:
                return found
    return {}


def _number(attempts: Sequence[_Attempt]) -> None:
    """Number the attempts at each task that say no trial, in the order in which they began."""
    taken: dict[str, set[int]] = {}
    for attempt in attempts:
        if attempt.trial >= 0:
            taken.setdefault(attempt.task, set()).add(attempt.trial)
    for attempt in sorted(attempts, key=lambda one: (one.begun, one.identity)):
        if attempt.trial < 0:
            used = taken.setdefault(attempt.task, set())
            attempt.trial = next(number for number in range(len(used) + 1) if number not in used)
            used.add(attempt.trial)


def _run(group: tuple[str, ...], attempts: Sequence[_Attempt], redactor: Redactor) -> ImportedRun:
    benchmark, agent, version, model = group
    begun = min((attempt.begun for attempt in attempts if attempt.begun), default=0.0)
    runs = {str(attempt.told.get("run")) for attempt in attempts if attempt.told.get("run")}
    names = sorted(attempt.identity for attempt in attempts)
    head = ForeignHead(
        form=FORM,
        identity=[*group, sorted(runs) or names],
        benchmark=benchmark,
        content=[FORM, benchmark],
        model=model if "/" in model else f"unknown/{model}",
        agent=agent,
        created_at=begun,
        undated=not begun,
        provenance={"atif": {"agent_version": version}},
    )
    return assemble(head, partial(_samples, attempts, head, redactor), attempts[0].path, redactor, _declare)


def _declare(head: ForeignHead, episodes: Sequence[Episode]) -> None:
    """Declare a metric for each reward; none if no trajectory was rewarded, which is no failure to score it."""
    names = list(dict.fromkeys(score.name for episode in episodes for score in episode.scores))
    if all(score.missing is Cause.VALUE_MISSING for episode in episodes for score in episode.scores):
        head.metrics, names = (), []
    else:
        head.metrics = tuple(Metric(name, name, primary=name == REWARD) for name in names)
    for episode in episodes:
        known = {score.name: score for score in episode.scores}
        episode.scores = tuple(known.get(name) or Score(name, missing=Cause.VALUE_MISSING) for name in names)


def _samples(attempts: Sequence[_Attempt], head: ForeignHead, redactor: Redactor) -> Iterator[ForeignSample]:
    for attempt in attempts:
        document = _load(attempt.path)
        try:
            yield _sample(attempt, document, head, redactor)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise UsageError(f"{attempt.path} is a damaged trajectory ({error!r}); nothing was imported") from error


def _sample(attempt: _Attempt, document: JSON, head: ForeignHead, redactor: Redactor) -> ForeignSample:
    trace = TraceWriter(redactor, attempt.begun)
    trace.event(Kind.EPISODE_START, {"task": attempt.task, "trial": attempt.trial})
    steps = _whole(attempt.path, document)
    messages, facts = _conversation(steps)
    record_chat(trace, messages, head.model, facts)
    for other in document.get("subagent_trajectories") or ():
        agent = other.get("agent") or {}
        said, known = _conversation(other.get("steps") or ())
        role = str(agent.get("name") or "subagent")
        record_chat(trace, said, str(agent.get("model_name") or head.model), [{**one, "role": role} for one in known])
    failure, status = _ended(attempt)
    ended = moment(attempt.harbor.get("finished_at")) or _last_time(steps)
    trace.event(Kind.EPISODE_END, {"status": status, "steps": trace.step, "total_reward": 0.0}, ended)
    return ForeignSample(
        task=Task(attempt.task, input=attempt.content, labels=_labels(attempt.told.get("labels"))),
        trial=attempt.trial,
        status=status,
        started_at=attempt.begun,
        ended_at=ended,
        scores=_scores(attempt, failure),
        failure=failure,
        usage=_usage(document, facts),
        steps=trace.step,
        answer=_answer(messages),
        facts={name: document[name] for name in ("notes", "continued_trajectory_ref") if document.get(name)},
        trace=trace,
        files={KEPT: json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")},
    )


def _whole(path: Path, document: JSON) -> list[JSON]:
    """Return the steps of a trajectory with those of its continuations, without the context that these repeat."""
    steps, seen = list(document["steps"]), {path.resolve()}
    other = _beside(path, document)
    while other is not None and other not in seen:
        seen.add(other)
        following = _load(other)
        steps += [step for step in following["steps"] if not step.get("is_copied_context")]
        other = _beside(other, following)
    return steps


def _conversation(steps: Sequence[Mapping[str, Any]]) -> tuple[list[JSON], list[JSON]]:
    """Return the messages of steps, and for each what is known about its call."""
    messages: list[JSON] = []
    facts: list[JSON] = []
    for step in steps:
        role = _ROLES[str(step.get("source"))]
        at = moment(step.get("timestamp"))
        message: JSON = {"role": role, "content": _content(step.get("message"))}
        if step.get("reasoning_content"):
            message["reasoning"] = str(step["reasoning_content"])
        if calls := step.get("tool_calls"):
            message["tool_calls"] = [
                {"id": str(one["tool_call_id"]), "name": str(one["function_name"]), "arguments": one.get("arguments")}
                for one in calls
            ]
        messages.append(message)
        facts.append({"at": at, **(_call_facts(step) if role == "assistant" else {})})
        for result in (step.get("observation") or {}).get("results") or ():
            called = result.get("source_call_id")
            answer: JSON = {"role": "tool" if called else "user", "content": _content(result.get("content"))}
            messages.append({**answer, "tool_call_id": str(called)} if called else answer)
            facts.append({"at": at})
    return messages, facts


def _call_facts(step: Mapping[str, Any]) -> JSON:
    metrics = step.get("metrics") or {}
    calls = step.get("llm_call_count")
    cost = metrics.get("cost_usd")
    usage = {
        "prompt": _count(metrics.get("prompt_tokens")),
        "completion": _count(metrics.get("completion_tokens")),
        "cached": _count(metrics.get("cached_tokens")),
        "cost_usd": float(cost) if _is_number(cost) else None,
        "calls": calls if isinstance(calls, int) else 1,
    }
    return {"usage": usage, **({"model": step["model_name"]} if step.get("model_name") else {})}


def _usage(document: Mapping[str, Any], facts: Sequence[JSON]) -> Usage:
    """Return the totals of a trajectory, else the sum of its steps; a cost that is nowhere is unknown."""
    calls = [one["usage"] for one in facts if "usage" in one]
    told = document.get("final_metrics") or {}
    names = {"prompt": "total_prompt_tokens", "completion": "total_completion_tokens", "cached": "total_cached_tokens"}
    tokens = {
        name: _count(told.get(key)) if told.get(key) is not None else sum(one[name] for one in calls)
        for name, key in names.items()
    }
    costs = [one["cost_usd"] for one in calls]
    known = math.fsum(costs) if costs and None not in costs else None
    cost = told.get("total_cost_usd")
    return Usage(
        tokens["prompt"],
        tokens["completion"],
        tokens["cached"],
        cost_usd=float(cost) if _is_number(cost) else known,
        calls=sum(one["calls"] for one in calls),
    )


def _ended(attempt: _Attempt) -> tuple[Failure | None, EpisodeStatus]:
    """Return how an attempt ended, by the exception of its Harbor trial or what mesocosm had written."""
    raised = attempt.harbor.get("exception_info")
    if isinstance(raised, Mapping):
        kind = str(raised.get("exception_type") or "")
        text = f"{kind}: {raised.get('exception_message') or ''}".rstrip(": ")
        if "AgentTimeout" in kind:
            return None, EpisodeStatus.TIMEOUT
        cause = Cause.GRADER_ERROR if "Verifier" in kind or "Reward" in kind else Cause.ENVIRONMENT_ERROR
        cause = Cause.AGENT_ERROR if "Agent" in kind else cause
        return _failed(cause, text, str(raised.get("exception_traceback") or "")), EpisodeStatus.FAILED
    told = attempt.told.get("failure")
    status = str(attempt.told.get("status") or EpisodeStatus.COMPLETED)
    if isinstance(told, Mapping) and told.get("cause") in {cause.value for cause in Cause}:
        return _failed(Cause(told["cause"]), str(told.get("message") or ""), ""), EpisodeStatus.FAILED
    known = {one.value for one in (EpisodeStatus.COMPLETED, EpisodeStatus.TRUNCATED, EpisodeStatus.TIMEOUT)}
    return None, EpisodeStatus(status) if status in known else EpisodeStatus.COMPLETED


def _failed(cause: Cause, message: str, detail: str) -> Failure:
    return Failure(cause, RULES[cause].boundary, message, detail)


def _scores(attempt: _Attempt, failure: Failure | None) -> list[Score]:
    rewards = (attempt.harbor.get("verifier_result") or {}).get("rewards")
    given = dict(rewards) if isinstance(rewards, Mapping) else {}
    if not attempt.harbor and "reward" in attempt.told:
        given = {REWARD: attempt.told["reward"]}
    found = [Score(str(name), float(value)) for name, value in given.items() if _is_number(value)]
    if any(score.name == REWARD for score in found):
        return found
    if failure is not None and RULES[failure.cause].valid:
        return [Score(REWARD, worst=True), *found]
    return [Score(REWARD, missing=Cause.VALUE_MISSING if failure is None else failure.cause), *found]


def _content(content: Any) -> Any:
    if content is None:
        return ""
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> JSON:
    if part.get("type") == "text":
        return {"type": "text", "text": str(part.get("text") or "")}
    source = part.get("source") or {}
    return {"type": "text", "text": f"[{part.get('type')}: {source.get('path')}]"}


def _answer(messages: Sequence[JSON]) -> Any:
    said = (
        one["content"] for one in reversed(messages) if one["role"] == "assistant" and isinstance(one["content"], str)
    )
    return next((text for text in said if text), None)


def _last_time(steps: Sequence[Mapping[str, Any]]) -> float | None:
    return next((at for step in reversed(steps) if (at := moment(step.get("timestamp"))) is not None), None)


def _labels(told: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in told.items()} if isinstance(told, Mapping) else {}


def _count(value: Any) -> int:
    return max(int(value), 0) if _is_number(value) else 0


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
