"""One capture: the file, its schema, and its counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from mesocosm.core.failure import Problem, UsageError
from mesocosm.core.foreign import read_json

MOST_BYTES = 64 * 1024 * 1024
"""A larger file is not a capture of one episode."""
MOST_PROBLEMS = 10
"""Maximum number of problems that are listed for one file."""

_Count = Annotated[int, msgspec.Meta(ge=0)]


class CapturedModelCall(msgspec.Struct, frozen=True):
    """A call of a model."""

    model: str = ""
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None


class CapturedToolCall(msgspec.Struct, frozen=True):
    """A call of a tool; it failed if it has an `error` or `success` is false."""

    name: str = ""
    error: Any = None
    success: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether the capture marks the call as failed."""
        return bool(self.error) or self.success is False


class CapturedEvent(msgspec.Struct, frozen=True):
    """One event. It can belong to several classes: its kind names one, and the parts that it has name others."""

    kind: str = ""
    ts: str | None = None
    llm: CapturedModelCall | None = None
    tool_call: CapturedToolCall | None = None
    decision_type: str | None = None

    @property
    def at(self) -> datetime | None:
        """Its time (without a zone: UTC), or None if it cannot be read."""
        try:
            found = datetime.fromisoformat(self.ts or "")
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)


class CapturedOutcome(msgspec.Struct, frozen=True):
    """The outcome of the episode, as recorded."""

    success: bool | None = None


@dataclass(frozen=True, slots=True)
class CaptureCounts:
    """Counts of a capture. Tokens are None if no event has any, the duration if there are not two readable times."""

    events: int
    llm: int
    tool: int
    tool_errors: int
    decision: int
    duration_ms: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """A parsed file: its outcome and counts, or the problems that make it invalid."""

    success: bool | None = None
    counts: CaptureCounts | None = None
    problems: tuple[Problem, ...] = ()


def read_capture(data: bytes) -> Capture:
    """Parse a capture. Never raises: errors are among its problems."""
    try:
        raw = events_of(data)
    except UsageError as error:
        return Capture(problems=(Problem("", str(error)),))
    problems: list[Problem] = []
    outcome = CapturedOutcome()
    try:
        outcome = msgspec.convert({} if raw.get("outcome") is None else raw["outcome"], CapturedOutcome)
    except msgspec.ValidationError as error:
        problems.append(_problem("outcome", error))
    events: list[CapturedEvent] = []
    for number, event in enumerate(raw["events"]):
        try:
            events.append(msgspec.convert(event, CapturedEvent))
        except msgspec.ValidationError as error:
            problems.append(_problem(f"events.{number}", error))
    if problems:
        return Capture(problems=tuple(problems[:MOST_PROBLEMS]))
    return Capture(outcome.success, _counted(events))


def events_of(data: bytes) -> dict[str, Any]:
    """Return the object of a capture, which has an array `events`. Raises UsageError for other content."""
    if len(data) > MOST_BYTES:
        raise UsageError(f"is larger than {MOST_BYTES // 1024 // 1024} MiB")
    try:
        raw = read_json(data, large=True)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise UsageError("is not a JSON object")
    if not isinstance(raw.get("events"), list):
        raise UsageError("has no array `events`")
    return raw


def _problem(place: str, error: Exception) -> Problem:
    what, _, inside = str(error).partition(" - at `$")
    return Problem(place + inside.rstrip("`"), what)


def _counted(events: list[CapturedEvent]) -> CaptureCounts:
    tools = [event for event in events if event.kind == "tool" or event.tool_call]
    models = [event for event in events if event.kind == "llm" or event.llm]
    times = [event.at for event in events]
    known = [at for at in times if at is not None]
    calls = [event.llm for event in models if event.llm]
    return CaptureCounts(
        events=len(events),
        llm=len(models),
        tool=len(tools),
        tool_errors=sum(event.tool_call.failed for event in tools if event.tool_call),
        decision=sum(event.kind == "decision" or event.decision_type is not None for event in events),
        duration_ms=(max(known) - min(known)).total_seconds() * 1000 if known else None,
        prompt_tokens=_sum(call.prompt_tokens for call in calls),
        completion_tokens=_sum(call.completion_tokens for call in calls),
        models=tuple(sorted({call.model for call in calls if call.model})),
    )


def _sum(values: Iterator[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
