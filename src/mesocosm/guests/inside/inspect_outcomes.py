"""How a sample of Inspect ended: its scores, its conversation, what it did beside calls of models."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import Failed, Tell, finite
from .inspect_catalogue import Fields
from .inspect_loading import InspectTask

_CANCELLED = ("CancelledError(", "Cancelled(")
_GENERATING = "ModelGenerateError("
"""Begins the message of a failed model call: an escaped text with the whole request, and then the error."""
_LONGEST_TEXT = 20_000
_MOST_FRAMES = 4_000
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def ended(sample: Any, loaded: InspectTask) -> Fields:
    """Return the end of an episode. Raises Failed if the sample did."""
    graded = _graded(sample, loaded)
    if sample.error is not None:
        where = where_failed(sample.events)
        if first_line(sample.error.message).startswith(_CANCELLED):
            raise Failed("Inspect cancelled the sample", "cancelled")
        if where != "scorers":
            # Of a program that failed, the host may find that its model is to blame.
            cause = "program_failed" if where == "solvers" else "environment_error"
            raise Failed(first_line(sample.error.message), cause, _last(sample.error.traceback))
        known = {score["name"] for score in graded if score["value"] is not None}
        lacking = [metric["score"] for metric in loaded.metrics if metric["score"] not in known]
        words = first_line(sample.error.message)
        graded = [score for score in graded if score["name"] in known]
        graded += [{"name": name, "value": None, "missing": "grader_error", "explanation": words} for name in lacking]
    info: Fields = {"sample": sample.id, "epoch": sample.epoch}
    if sample.total_time is not None:
        info["seconds"] = round(sample.total_time, 3)
    if sample.working_time is not None:
        info["working_seconds"] = round(sample.working_time, 3)
    if sample.error is not None:
        info["scorer_error"] = {"message": first_line(sample.error.message), "detail": _last(sample.error.traceback)}
    status = "completed"
    if sample.limit is not None:
        info["limit"] = {"type": sample.limit.type, "limit": sample.limit.limit}
        status = "timeout" if sample.limit.type in {"time", "working"} else "truncated"
    elif sample.output is not None and sample.output.stop_reason == "model_length":
        info["limit"] = {"type": "context", "limit": None}
        status = "truncated"
    if not graded:
        info["unscored"] = "no scorer gave a score"
    return {"status": status, "scores": graded, "answer": _conversation(sample), "info": info}


def _graded(sample: Any, loaded: InspectTask) -> list[Fields]:
    """Return the scores of a sample, those of declared metrics first; what has no number is missing."""
    found: dict[str, Fields] = {}
    target = sample.target or None
    for scorer, score in (sample.scores or {}).items():
        told = {
            "explanation": shortened(score.explanation or ""),
            "answer": score.answer,
            "expected": target,
        }
        for name, value in values(scorer, score.value):
            read, cause = number(value)
            raw = {} if read is not None else {"explanation": told["explanation"] or f"the value is {value!r:.200}"}
            found[name] = {"name": name, "value": read, "missing": cause, **told, **raw}
    declared = [metric["score"] for metric in loaded.metrics]
    first = sorted(loaded.metrics, key=lambda metric: not metric.get("primary"))
    for name in declared:
        found.setdefault(name, {"name": name, "value": None, "missing": "value_missing", "expected": target})
    order = [metric["score"] for metric in first]
    return [found[name] for name in (*order, *(name for name in found if name not in declared))]


def values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the scores that a scorer's value means: one for each key of an object."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield f"{scorer}.{key}", part
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield f"{scorer}.{place}", part
    else:
        yield scorer, value


def number(value: Any) -> tuple[float | None, str]:
    """Return a value as the number that Inspect's metrics read, or the cause why there is none.

    Inspect itself takes texts without a meaning for 0; here they are missing.
    """
    if isinstance(value, str):
        known = _GRADES.get(value, _WORDS.get(value.lower()))
        found = finite(value) if known is None else known
        return found, "" if found is not None else "value_unusable"
    found = finite(value)
    return found, "" if found is not None else "value_missing"


def where_failed(events: Iterable[Any]) -> str:
    """Return the part of the sample in which it failed: `init`, `solvers` or `scorers`."""
    found = "init"
    for event in events:
        if event.event == "span_begin" and event.name in {"solvers", "scorers"} and event.parent_id is None:
            found = event.name
        elif event.event == "error":
            break
    return found


def _conversation(sample: Any) -> Fields:
    """Return the messages as people read them, and the last completion where no message holds it."""
    messages: list[Fields] = []
    for message in sample.messages:
        said: Fields = {"role": message.role, "content": shortened(message.text)}
        calls = getattr(message, "tool_calls", None)
        if calls:
            said["tool_calls"] = [{"name": call.function, "arguments": call.arguments} for call in calls]
        messages.append(said)
    completion = sample.output.completion if sample.output is not None else ""
    if completion and not any(said["role"] == "assistant" and said["content"] == completion for said in messages):
        return {"messages": messages, "completion": shortened(completion)}
    return {"messages": messages}


def trace(tell: Tell, event: Any) -> None:
    """Tell what did not pass the model endpoint: calls of tools, work in the sandbox, limits, notes."""
    if getattr(event, "pending", None):
        return
    if event.event == "tool":
        called: Fields = {"name": event.function, "arguments": event.arguments, "result": _result(event.result)}
        if event.error is not None:
            called["error"] = f"{event.error.type}: {event.error.message}"
        if event.working_time is not None:
            called["seconds"] = round(event.working_time, 3)
        tell("tool_call", called)
    elif event.event == "sandbox":
        what = {"action": event.action, "command": event.cmd, "file": event.file, "code": event.result}
        shown = {name: value for name, value in what.items() if value is not None}
        tell("log", {"stream": "sandbox", "message": shortened(event.output or event.action), **shown})
    elif event.event == "sample_limit":
        tell("log", {"stream": "limit", "message": event.message})
    elif event.event == "info":
        tell("log", {"stream": "info", "message": shortened(str(event.data))})
    elif event.event == "error":
        tell("log", {"stream": "error", "message": shortened(event.error.message)})


def _result(result: Any) -> Any:
    if isinstance(result, str):
        return shortened(result)
    parts = result if isinstance(result, list) else [result]
    texts = [getattr(part, "text", None) or getattr(part, "type", None) or str(part) for part in parts]
    return shortened("\n".join(str(text) for text in texts))


def shortened(text: str) -> str:
    """Return a text short enough for a trace."""
    if len(text) <= _LONGEST_TEXT:
        return text
    half = _LONGEST_TEXT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def first_line(text: str) -> str:
    """Return the first line of a message; of a failed model call what the server said, without the request."""
    if text.startswith(_GENERATING):
        text = text.rpartition("\\n\\n")[2].removesuffix(")").rstrip("'\"")
    return text.strip().partition("\n")[0][:2_000]


def _last(text: str) -> str:
    return text[-_MOST_FRAMES:]
