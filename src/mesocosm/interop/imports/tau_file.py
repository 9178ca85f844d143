"""Read trajectories of tau-bench and τ²-bench, and tables of their rewards, as runs."""

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Cause, Failure, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.redact import Redactor
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.interop.imports.assembly import ForeignHead, ForeignSample, ImportedRun, assemble
from mesocosm.interop.imports.chat_message import chat_message
from mesocosm.interop.imports.trace_writer import TraceWriter, record_chat

TauForm = Literal["tau-bench", "tau2-bench"]

JSON = dict[str, Any]

PASSED = 1 - 1e-6
"""A reward of at least so much is a success, as tau-bench counts."""

METRICS = (
    Metric("reward", "reward", low=0.0, high=1.0, primary=True),
    Metric("pass_rate", "reward", "pass_rate", threshold=PASSED, inclusive=True, low=0.0, high=1.0),
)

_NAME = re.compile(
    r"(?P<strategy>tool-calling|few-shot|react|act)-(?P<model>.+)-(?P<temperature>\d+(\.\d+)?)_range_.*_user-(?P<user>.+?)_\d+"
)
_DOMAINS = ("airline", "retail", "telecom", "banking", "mock")
_CUT = frozenset({"max_steps", "too_many_errors"})
_ENDS: dict[str, Cause] = {
    "agent_error": Cause.AGENT_ERROR,
    "user_error": Cause.ENVIRONMENT_ERROR,
    "infrastructure_error": Cause.ENVIRONMENT_ERROR,
}


def is_tau(document: Any) -> TauForm | None:
    """Return which of the two formats a JSON document is in, None for neither."""
    if isinstance(document, Mapping):
        simulations = document.get("simulations")
        if isinstance(simulations, list) and all(_has_task(one) for one in simulations[:20]):
            return "tau2-bench" if simulations or "tasks" in document else None
        return None
    if isinstance(document, list) and document and all(_has_task(one) and "reward" in one for one in document[:20]):
        return "tau-bench"
    return None


def is_reward_table(path: Path) -> bool:
    """Return whether a file is a table with the columns `task_id` and `reward`. Raises OSError."""
    if path.suffix.lower() != ".csv":
        return False
    with path.open("rb") as file:
        line = file.readline(4096).decode("utf-8-sig", "replace")
    names = {name.strip().strip('"') for name in line.split(",")}
    return {"task_id", "reward"} <= names


def read_reward_table(path: Path) -> list[JSON]:
    """Return the rows of a table of rewards. Raises UsageError with the line that is wrong."""
    rows: list[JSON] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                try:
                    reward = float(row["reward"]) if row["reward"].strip() else None
                    rows.append({"task_id": row["task_id"], "trial": int(row.get("trial") or 0), "reward": reward})
                except (ValueError, AttributeError, TypeError) as error:
                    raise UsageError(f"{path}, line {number} has no usable reward or trial: {row}") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if not rows:
        raise UsageError(f"{path} has a heading and no rows")
    return rows


def read_tau(path: Path, document: Any, redactor: Redactor) -> Iterator[ImportedRun]:
    """Yield the run that trajectories belong to. Raises UsageError for one without task, or with a trial twice."""
    newer = isinstance(document, Mapping)
    head = _newer_head(path, document) if newer else _older_head(path, document)
    read = _simulations if newer else _results
    yield assemble(head, partial(read, path, document, head, redactor), path, redactor)


def _has_task(one: Any) -> bool:
    return isinstance(one, Mapping) and "task_id" in one


def _domain(text: str) -> str:
    return next((domain for domain in _DOMAINS if domain in text.lower()), "")


def _older_head(path: Path, rows: Sequence[JSON]) -> ForeignHead:
    named = _NAME.search(path.stem)
    domain = _domain(path.stem)
    at = path.stat().st_mtime
    return ForeignHead(
        form="tau-bench",
        identity=digest(
            [[one.get("task_id"), one.get("trial"), str(one.get("reward")), one.get("traj")] for one in rows]
        ),
        benchmark=f"tau-bench/{domain}" if domain else "tau-bench",
        content=["tau-bench", domain],
        model=f"unknown/{named['model'] if named else path.stem}",
        agent=named["strategy"] if named else "tau-bench",
        temperature=float(named["temperature"]) if named else None,
        created_at=at,
        undated=True,
        metrics=METRICS,
        provenance={"tau_bench": {"file": path.name, **({"user": named["user"]} if named else {})}},
    )


def _results(path: Path, rows: Sequence[JSON], head: ForeignHead, redactor: Redactor) -> Iterator[ForeignSample]:
    for place, row in enumerate(rows):
        try:
            yield _result(row, head, redactor)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{path}: result {place} is none of tau-bench ({error!r}); nothing was imported"
            ) from error


def _result(row: JSON, head: ForeignHead, redactor: Redactor) -> ForeignSample:
    info = _mapping(row.get("info"))
    task_id, trial = str(row["task_id"]), int(row.get("trial") or 0)
    told = _mapping(info.get("task"))
    trace = TraceWriter(redactor, head.created_at)
    trace.event(Kind.EPISODE_START, {"task": task_id, "trial": trial})
    messages = [chat_message(one) for one in row.get("traj") or () if isinstance(one, Mapping)]
    record_chat(trace, messages, head.model)
    failure = None
    if info.get("error"):
        text = str(info["error"])
        failure = Failure(
            Cause.ENVIRONMENT_ERROR, RULES[Cause.ENVIRONMENT_ERROR].boundary, text, str(info.get("traceback") or "")
        )
    status = EpisodeStatus.FAILED if failure else EpisodeStatus.COMPLETED
    reward = _reward(row.get("reward"))
    trace.event(Kind.EPISODE_END, {"status": status, "steps": trace.step, "total_reward": reward or 0.0})
    facts = {"reward_info": info["reward_info"]} if info.get("reward_info") else {}
    if info.get("user_cost") is not None:
        facts["user_cost_usd"] = info["user_cost"]
    return ForeignSample(
        # Files of one benchmark name a task alike, and not all of them hold what it asks.
        task=Task(task_id, input={"task_id": task_id}, labels=_labels(told)),
        trial=trial,
        status=status,
        started_at=head.created_at,
        scores=[_score(reward, failure)],
        failure=failure,
        usage=Usage(cost_usd=None, calls=trace.step),
        steps=trace.step,
        answer=_last(messages),
        facts={**facts, **({"instruction": told["instruction"]} if told.get("instruction") else {})},
        trace=trace,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of JSON, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def _labels(told: Mapping[str, Any]) -> dict[str, str]:
    user = told.get("user_id")
    return {"user": user} if isinstance(user, str) else {}


def _newer_head(path: Path, document: JSON) -> ForeignHead:
    info = document.get("info") or {}
    agent, environment = info.get("agent_info") or {}, info.get("environment_info") or {}
    domain = str(environment.get("domain_name") or _domain(path.stem))
    simulations = document["simulations"]
    tasks = document.get("tasks") or ()
    trials = info.get("num_trials") if isinstance(info.get("num_trials"), int) else None
    options = agent.get("llm_args") or {}
    at = _stamp(document.get("timestamp")) or next(
        filter(None, (_stamp(one.get("start_time")) for one in simulations)), 0.0
    )
    known = document.get("timestamp") or sorted(str(one.get("id")) for one in simulations)
    model = str(agent.get("llm") or "unknown")
    return ForeignHead(
        form="tau2-bench",
        identity=[known, info.get("git_commit"), domain, agent.get("llm")],
        benchmark=f"tau2-bench/{domain}" if domain else "tau2-bench",
        content=["tau2-bench", domain],
        model=model if "/" in model else f"unknown/{model}",
        agent=str(agent.get("implementation") or "tau2-bench"),
        temperature=options.get("temperature") if isinstance(options.get("temperature"), int | float) else None,
        created_at=at,
        planned=len(tasks) * trials if trials and tasks else None,
        trials=trials,
        metrics=METRICS,
        provenance={
            "tau2_bench": {
                name: value
                for name, value in (
                    ("git_commit", info.get("git_commit")),
                    ("user", (info.get("user_info") or {}).get("llm")),
                    ("max_steps", info.get("max_steps")),
                    ("seed", info.get("seed")),
                )
                if value is not None
            }
        },
    )


def _simulations(path: Path, document: JSON, head: ForeignHead, redactor: Redactor) -> Iterator[ForeignSample]:
    tasks = {str(one.get("id")): one for one in document.get("tasks") or () if isinstance(one, Mapping)}
    for place, one in enumerate(document["simulations"]):
        try:
            yield _simulation(one, tasks.get(str(one["task_id"])) or {}, head, redactor)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path}: simulation {place} is none of τ² ({error!r}); nothing was imported") from error


def _simulation(one: JSON, task: Mapping[str, Any], head: ForeignHead, redactor: Redactor) -> ForeignSample:
    task_id, trial = str(one["task_id"]), int(one.get("trial") or 0)
    started = _stamp(one.get("start_time")) or head.created_at
    trace = TraceWriter(redactor, started)
    trace.event(Kind.EPISODE_START, {"task": task_id, "trial": trial, "seed": one.get("seed")})
    raw = [message for message in one.get("messages") or () if isinstance(message, Mapping)]
    messages, facts = [chat_message(message) for message in _flat(raw)], [_known(message) for message in _flat(raw)]
    record_chat(trace, messages, head.model, facts)
    reason = str(one.get("termination_reason") or "")
    told = _mapping(one.get("reward_info"))
    reward = _reward(told.get("reward"))
    failure, status = None, EpisodeStatus.TRUNCATED if reason in _CUT else EpisodeStatus.COMPLETED
    if reason in _ENDS and reward is None:
        cause = _ENDS[reason]
        failure, status = (
            Failure(cause, RULES[cause].boundary, f"the simulation ended by {reason}"),
            EpisodeStatus.FAILED,
        )
    trace.event(Kind.EPISODE_END, {"status": status, "steps": trace.step, "total_reward": reward or 0.0})
    cost = one.get("agent_cost")
    spent = [message.get("usage") or {} for message in raw if message.get("role") == "assistant"]
    return ForeignSample(
        task=Task(task_id, input={"task_id": task_id}),
        trial=trial,
        status=status,
        started_at=started,
        ended_at=_stamp(one.get("end_time")),
        scores=[_score(reward, failure)],
        failure=failure,
        usage=Usage(
            sum(int(usage.get("prompt_tokens") or 0) for usage in spent),
            sum(int(usage.get("completion_tokens") or 0) for usage in spent),
            cost_usd=float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else None,
            calls=trace.step,
        ),
        steps=trace.step,
        answer=_last(messages),
        facts={
            name: value
            for name, value in (
                ("termination_reason", reason),
                ("reward_info", told),
                ("user_cost_usd", one.get("user_cost")),
                ("scenario", task.get("user_scenario")),
                ("seed", one.get("seed")),
            )
            if value
        },
        trace=trace,
    )


def _flat(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield messages; one with the results of several tools is as many messages."""
    for message in messages:
        several = message.get("tool_messages")
        if isinstance(several, list):
            yield from (one for one in several if isinstance(one, Mapping))
        else:
            yield message


def _known(message: Mapping[str, Any]) -> JSON:
    found: JSON = {"at": _stamp(message.get("timestamp"))}
    usage = message.get("usage")
    if isinstance(usage, Mapping):
        cost = message.get("cost")
        found["usage"] = {
            "prompt": int(usage.get("prompt_tokens") or 0),
            "completion": int(usage.get("completion_tokens") or 0),
            "cost_usd": cost if isinstance(cost, int | float) else None,
            "calls": 1,
        }
    return found


def _score(reward: float | None, failure: Failure | None) -> Score:
    if failure is not None:
        if RULES[failure.cause].valid:
            return Score("reward", worst=True)
        return Score("reward", missing=failure.cause)
    return Score("reward", missing=Cause.VALUE_MISSING) if reward is None else Score("reward", reward)


def _reward(value: Any) -> float | None:
    usable = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if usable else None


def _last(messages: Sequence[JSON]) -> Any:
    said = (
        one["content"] for one in reversed(messages) if one["role"] == "assistant" and isinstance(one["content"], str)
    )
    return next((text for text in said if text), None)


def _stamp(text: Any) -> float | None:
    """Return an ISO time as UNIX seconds; τ² writes local times without offset, which are read as UTC."""
    if not isinstance(text, str) or not text:
        return None
    try:
        moment = datetime.fromisoformat(text.replace("_", "T", 1) if re.fullmatch(r"\d{8}_\d{6}", text) else text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
