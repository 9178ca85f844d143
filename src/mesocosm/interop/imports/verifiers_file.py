"""Read `traces.jsonl` of verifiers, an episode a line, as a run."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Cause, Failure, UsageError
from mesocosm.core.redact import Redactor
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.interop.conversation import text_of
from mesocosm.interop.imports.assembly import ForeignHead, ForeignSample, ImportedRun, assemble
from mesocosm.interop.imports.chat_message import chat_message
from mesocosm.interop.imports.foreign_json import read_foreign_json
from mesocosm.interop.imports.trace_writer import TraceWriter
from mesocosm.interop.verifiers_traces import call_key

JSON = dict[str, Any]

REWARD = "reward"
"""The primary score: the sum of the rewards by their weights, of the agents that are trained."""

_HEAD = 1 << 20
_TRUNCATED = frozenset({"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed"})
_CAUSES = {
    "ProviderError": Cause.MODEL_UNAVAILABLE,
    "HarnessError": Cause.PROGRAM_FAILED,
    "SandboxError": Cause.SANDBOX_FAILED,
    "TimeoutError": Cause.ENVIRONMENT_TIMEOUT,
}
_BASE = frozenset(
    {
        *("idx", "id", "name", "description", "prompt", "system_prompt", "image", "workdir", "agent_user", "skills"),
        *("network_allow", "network_block", "artifacts", "artifact_max_bytes", "timeout", "resources"),
    }
)


def is_verifiers(path: Path) -> bool:
    """Return whether a file holds episodes of verifiers. Raises OSError."""
    if path.suffix.lower() != ".jsonl":
        return False
    with path.open("rb") as file:
        line = file.readline(_HEAD)
    # The first line may be longer than what is read of it.
    start = line.lstrip(b"\xef\xbb\xbf \t")[:4096]
    if not line.endswith(b"\n"):
        return start.startswith(b'{"id"') and b'"env"' in start and b'"task"' in start
    try:
        return _is_episode(read_foreign_json(line))
    except ValueError:
        return False


def read_verifiers(path: Path, redactor: Redactor) -> Iterator[ImportedRun]:
    """Yield the run that the episodes of a file are. Raises UsageError with the line that is none."""
    names: dict[str, None] = {}
    first: JSON = {}
    ids: list[str] = []
    started = math.inf
    for _, episode in _episodes(path):
        first = first or episode
        ids.append(str(episode.get("id")))
        started = min([started, *(_start(trace) for trace in episode["traces"])])
        names |= dict.fromkeys(name for name, _ in _values(episode))
    if not ids:
        raise UsageError(f"{path} holds no episodes")
    agents = [trace["agent"] for trace in first["traces"] if _trained(trace)] or [{}]
    config = agents[0].get("config") or {}
    model = str(config.get("model") or "unknown")
    run = first.get("run") or {}
    sampling = config.get("sampling") or {}
    head = ForeignHead(
        form="verifiers",
        identity=[run["id"]] if run.get("id") else sorted(ids),
        benchmark=f"verifiers/{(first.get('env') or {}).get('id') or path.stem}",
        content=["verifiers", (first.get("env") or {}).get("id")],
        version=str((first["traces"][0].get("verifiers") or {}).get("version") or "") if first["traces"] else "",
        model=model if "/" in model else f"unknown/{model}",
        agent=str((config.get("harness") or {}).get("id") or "verifiers"),
        temperature=_number(sampling.get("temperature")),
        max_tokens=sampling.get("max_tokens") if isinstance(sampling.get("max_tokens"), int) else None,
        created_at=started if math.isfinite(started) else path.stat().st_mtime,
        undated=not math.isfinite(started),
        metrics=tuple(Metric(name, name, primary=name == REWARD, directed=name == REWARD) for name in names),
        name=str(run.get("name") or ""),
    )
    yield assemble(head, partial(_samples, path, head, redactor), path, redactor)


def _episodes(path: Path) -> Iterator[tuple[int, JSON]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, _episode(path, number, line)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _episode(path: Path, number: int, line: bytes) -> JSON:
    try:
        found = read_foreign_json(line)
    except ValueError as error:
        raise UsageError(f"{path}, line {number} is not whole JSON: {error}; nothing was imported") from error
    if not _is_episode(found):
        raise UsageError(f"{path}, line {number} is no episode of verifiers; nothing was imported")
    episode: JSON = found
    return episode


def _is_episode(value: Any) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("traces"), list):
        return False
    task = value.get("task")
    whole = isinstance(task, Mapping) and isinstance(task.get("data"), Mapping)
    return whole and all(
        isinstance(trace, Mapping) and isinstance(trace.get("nodes"), list) for trace in value["traces"]
    )


def _samples(path: Path, head: ForeignHead, redactor: Redactor) -> Iterator[ForeignSample]:
    seen: Counter[str] = Counter()
    for number, episode in _episodes(path):
        try:
            sample = _sample(episode, head, redactor)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise UsageError(
                f"{path}, line {number} is no episode of verifiers ({error!r}); nothing was imported"
            ) from error
        sample.trial = seen[sample.task.id]
        seen[sample.task.id] += 1
        yield sample


def _sample(episode: JSON, head: ForeignHead, redactor: Redactor) -> ForeignSample:
    traces: Sequence[JSON] = episode["traces"]
    task = _task(episode["task"])
    started = min((_start(trace) for trace in traces), default=head.created_at)
    ended = max((_end(trace) for trace in traces), default=started)
    writer = TraceWriter(redactor, started)
    writer.event(Kind.EPISODE_START, {"task": task.id})
    usage = NOTHING
    for number, trace in enumerate(traces):
        usage += _record(writer, trace, number, head.model)
    failure = None if episode.get("ok") or _is_grading(episode) else _failure(episode)
    missing = failure.cause if failure is not None else Cause.VALUE_MISSING
    missing = Cause.GRADER_ERROR if _is_grading(episode) else missing
    stops = {trace.get("stop_condition") for trace in traces}
    late = any(trace.get("is_timeout") for trace in traces)
    status = EpisodeStatus.TRUNCATED if stops & _TRUNCATED else EpisodeStatus.COMPLETED
    status = EpisodeStatus.FAILED if failure else EpisodeStatus.TIMEOUT if late else status
    scores = [Score(name, value, missing=None if value is not None else missing) for name, value in _values(episode)]
    writer.event(Kind.EPISODE_END, {"status": status, "steps": writer.step})
    played = [trace for trace in traces if _trained(trace)] or list(traces)
    return ForeignSample(
        task=task,
        status=status,
        started_at=started if math.isfinite(started) else head.created_at,
        ended_at=ended,
        scores=scores,
        failure=failure,
        usage=usage,
        steps=writer.step,
        answer=_last(played[-1]) if played else None,
        facts=_facts(episode, played),
        trace=writer,
    )


def _facts(episode: JSON, played: Sequence[JSON]) -> JSON:
    """Return what runs of verifiers here store with an episode, so that it can be written as it was read."""
    task = episode["task"]
    own: JSON = {
        "env": (episode.get("env") or {}).get("id"),
        "task": {name: task.get(name) for name in ("type", "key", "hash")},
        "agents": [_agent(trace, alone=len(episode["traces"]) == 1) for trace in episode["traces"]],
    }
    return {**({"stop_condition": played[-1].get("stop_condition")} if played else {}), "verifiers": own}


def _agent(trace: JSON, *, alone: bool) -> JSON:
    config = trace["agent"].get("config") or {}
    return {
        "name": str(trace["agent"].get("name") or "agent"),
        "trainable": _trained(trace),
        "harness": (config.get("harness") or {}).get("id"),
        "runtime": (config.get("runtime") or {}).get("type"),
        "calls": [] if alone else list(_call_keys(trace["nodes"])),
        **{name: trace.get(name) for name in ("stop_condition", "rewards", "metrics", "info")},
        "errors": [{"type": one.get("type"), "message": one.get("message")} for one in trace.get("errors") or ()],
    }


def _call_keys(nodes: Sequence[JSON]) -> Iterator[str]:
    for node in nodes:
        if node.get("sampled"):
            asked = nodes[node["parent"]]["message"].get("content") if node.get("parent") is not None else ""
            yield call_key(text_of(asked), text_of(node["message"].get("content")))


def _task(told: Mapping[str, Any]) -> Task:
    data = told["data"]
    own = {name: value for name, value in data.items() if name not in _BASE and value is not None}
    named = data.get("id") or data.get("name") or told.get("key") or told.get("hash") or data.get("idx")
    prompt = data.get("prompt")
    if data.get("system_prompt") and isinstance(prompt, str):
        prompt = [{"role": "system", "content": data["system_prompt"]}, {"role": "user", "content": prompt}]
    target = own["answer"] if set(own) == {"answer"} else own or None
    return Task(str(named), input=prompt if prompt is not None else data.get("system_prompt"), target=target)


def _record(writer: TraceWriter, trace: JSON, number: int, model: str) -> Usage:
    """Record the calls of trace `number` of an episode; return what they used."""
    nodes: Sequence[JSON] = trace["nodes"]
    spent = NOTHING
    recorded: Sequence[JSON] = trace.get("calls") or [
        {"node": place, "time": {"end": node.get("timestamp")}}
        for place, node in enumerate(nodes)
        if node.get("sampled")
    ]
    for call in recorded:
        usage = _usage(call.get("usage"))
        spent += usage
        error = call.get("error") or {}
        at = _number((call.get("time") or {}).get("end"))
        if call.get("node") is None:
            if error:
                writer.event(Kind.WARNING, {"message": f"{error.get('type')}: {error.get('message')}"}, at)
            continue
        known = [
            writer.message(chat_message(nodes[place]["message"]), at, key=[number, place])
            for place in _path(nodes, nodes[call["node"]].get("parent"))
        ]
        writer.call(
            str(call.get("model") or model),
            known,
            chat_message(nodes[call["node"]]["message"]),
            at=at,
            usage={
                "prompt": usage.prompt,
                "completion": usage.completion,
                "cached": usage.cached,
                "cost_usd": usage.cost_usd,
                "calls": 1,
            },
            finish_reason=call.get("finish_reason"),
        )
    return spent


def _path(nodes: Sequence[JSON], last: int | None) -> list[int]:
    """Return the places from the root to `last`. Raises ValueError for a circle."""
    found: list[int] = []
    while last is not None:
        if last in found:
            raise ValueError("its messages follow each other in a circle")
        found.append(last)
        last = nodes[last].get("parent")
    return found[::-1]


def _usage(told: Any) -> Usage:
    if not isinstance(told, Mapping):
        return Usage(calls=1, cost_usd=None)
    cached = int(told.get("cached_input_tokens") or 0)
    return Usage(
        int(told.get("prompt_tokens") or 0) + cached,
        int(told.get("completion_tokens") or 0),
        cached,
        int(told.get("reasoning_tokens") or 0),
        _number(told.get("cost")),
        1,
    )


def _values(episode: JSON) -> Iterator[tuple[str, float | None]]:
    """Yield the scores of an episode by our names; those of several rollouts of an agent are means."""
    found: dict[str, list[float | None]] = {REWARD: []}
    traces: Sequence[JSON] = episode["traces"]
    trained = [trace for trace in traces if _trained(trace)] or traces
    several = len({trace["agent"].get("name") for trace in traces}) > 1
    for trace in traces:
        rewards, metrics = trace.get("rewards") or {}, trace.get("metrics") or {}
        prefix = f"{trace['agent'].get('name') or 'agent'}." if several else ""
        total = _total(trace, rewards)
        if any(trace is one for one in trained):
            found[REWARD].append(total)
        if several:
            found.setdefault(prefix + REWARD, []).append(total)
        for name, one in rewards.items():
            shown = f"{prefix}rewards.{name}" if name == REWARD else prefix + name
            found.setdefault(shown, []).append(_number(one.get("score")) if isinstance(one, Mapping) else None)
        for name, one in metrics.items():
            shown = f"{prefix}metrics.{name}" if name in rewards or name == REWARD else prefix + name
            found.setdefault(shown, []).append(_number(one))
    for name, values in found.items():
        known = [value for value in values if value is not None]
        yield name, sum(known) / len(known) if known and len(known) == len(values) else None


def _total(trace: JSON, rewards: Mapping[str, Any]) -> float | None:
    if not trace.get("ok") or not rewards:
        return None
    total = 0.0
    for one in rewards.values():
        score = _number(one.get("score")) if isinstance(one, Mapping) else None
        if score is None:
            return None
        total += score * (1.0 if (weight := _number(one.get("weight"))) is None else weight)
    return total


def _errors(episode: JSON) -> list[Mapping[str, Any]]:
    """Return the errors of an episode, those of its agents first: what a hook raises is often their consequence."""
    return [error for holder in (*episode["traces"], episode) for error in holder.get("errors") or ()]


def _is_grading(episode: JSON) -> bool:
    """Return whether only the graders failed."""
    errors = _errors(episode)
    graded = any((trace.get("timing") or {}).get("scoring", {}).get("start") for trace in episode["traces"])
    return not episode.get("ok") and graded and bool(errors) and all(one.get("type") == "TaskError" for one in errors)


def _failure(episode: JSON) -> Failure:
    errors = _errors(episode)
    if not errors:
        return _failed(Cause.ENVIRONMENT_ERROR, "the episode is not ok, and says no error")
    kind = str(errors[0].get("type"))
    message = f"{kind}: {errors[0].get('message')}"
    return _failed(_CAUSES.get(kind, Cause.ENVIRONMENT_ERROR), message, str(errors[0].get("traceback") or ""))


def _failed(cause: Cause, message: str, detail: str = "") -> Failure:
    return Failure(cause, RULES[cause].boundary, message, detail)


def _trained(trace: JSON) -> bool:
    return trace["agent"].get("trainable") is not False


def _last(trace: JSON) -> Any:
    said = [node["message"].get("content") for node in trace["nodes"] if node.get("sampled")]
    return next((text for text in reversed(said) if isinstance(text, str) and text), None)


def _start(trace: JSON) -> float:
    found = _number((trace.get("timing") or {}).get("start"))
    return math.inf if found is None else found


def _end(trace: JSON) -> float:
    spans = (trace.get("timing") or {}).values()
    ends = [_number(span.get("end")) for span in spans if isinstance(span, Mapping)]
    return max((end for end in ends if end is not None), default=_start(trace))


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable else None
