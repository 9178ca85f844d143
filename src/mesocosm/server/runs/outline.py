"""The outline of an episode: a summary of each step, computed from a bounded part of its trace."""

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.core.event import Kind
from mesocosm.server.permissions.visible_runs import VisibleEpisode
from mesocosm.server.runs.trace import first_event, read_lines
from mesocosm.server.schemas.episode import StepPage, StepSummary

MOST_EVENTS = 20_000
"""Maximum number of events read per request; of a step with more events, only the first are read."""

LONGEST_ACTION = 160


class _Line(msgspec.Struct):
    """An event with an undecoded payload."""

    seq: int
    step: int
    kind: str
    payload: msgspec.Raw = msgspec.Raw(b"null")


_lines = msgspec.json.Decoder(_Line)


@dataclass(slots=True)
class _Step:
    """Summary of a step so far."""

    step: int
    first: int
    events: int = 0
    actions: list[str] = field(default_factory=list)
    reward: float | None = None
    tokens: int = 0
    latency: float | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def take(self, line: _Line) -> None:
        """Add an event."""
        self.events += 1
        self.counts[line.kind] = self.counts.get(line.kind, 0) + 1
        if line.kind in {Kind.ACTION, Kind.STEP_RESULT, Kind.MODEL_CALL}:
            payload = msgspec.json.decode(line.payload)
            if isinstance(payload, dict):
                self._look(line.kind, payload)

    def _look(self, kind: str, payload: dict[str, Any]) -> None:
        if kind == Kind.ACTION:
            role = f"{payload['role']}: " if payload.get("role") else ""
            self.actions.append(role + short(payload.get("action")))
        elif kind == Kind.STEP_RESULT:
            reward = _number(payload.get("reward"))
            self.reward = reward if self.reward is None else self.reward + (reward or 0.0)
        else:
            usage = payload.get("usage")
            spent = usage if isinstance(usage, dict) else {}
            self.tokens += int(_number(spent.get("prompt")) or 0) + int(_number(spent.get("completion")) or 0)
            latency = _number(payload.get("latency_s"))
            self.latency = latency if self.latency is None else self.latency + (latency or 0.0)

    def summary(self) -> StepSummary:
        """Return the step as a document."""
        return StepSummary(
            step=self.step,
            first_event=self.first,
            events=self.events,
            action=_cut(" · ".join(self.actions)),
            reward=self.reward,
            tokens=self.tokens,
            latency_s=self.latency,
            errors=self.counts.get(Kind.ERROR, 0),
            warnings=self.counts.get(Kind.WARNING, 0),
            retries=self.counts.get(Kind.RETRY, 0),
        )


def step_page(episode: VisibleEpisode, start: int, limit: int) -> StepPage:
    """Return the outline of at most `limit` steps, starting with `start`."""
    first = 0 if start == 0 else first_event(episode, start)
    if first is None:
        return StepPage(items=[], next=None, last=episode.record.steps)
    steps: list[_Step] = []
    following: int | None = None
    read = 0
    for line in map(_lines.decode, read_lines(episode, first, MOST_EVENTS)):
        read += 1
        if not steps or line.step > steps[-1].step:
            if len(steps) == limit:
                following = line.step
                break
            steps.append(_Step(line.step, line.seq))
        steps[-1].take(line)
    if following is None and read == MOST_EVENTS:
        following = _cut_off(episode, steps)
    return StepPage(items=[step.summary() for step in steps], next=following, last=episode.record.steps)


def _cut_off(episode: VisibleEpisode, steps: list[_Step]) -> int | None:
    """Return the step to continue from: the last one, dropped as possibly incomplete, or the next after a long one."""
    if len(steps) > 1:
        return steps.pop().step
    step = steps[0]
    after = first_event(episode, step.step + 1)
    step.events = (episode.record.events if after is None else after) - step.first
    return None if after is None else step.step + 1


def short(action: Any) -> str:
    """Return an action on one short line."""
    if isinstance(action, dict) and "$blob" in action:
        return "(large)"
    if action is None:
        return ""
    text = action if isinstance(action, str) else _answer(action) or json.dumps(action, ensure_ascii=False)
    return _cut(" ".join(text[: 4 * LONGEST_ACTION].split()))


def _answer(action: Any) -> str:
    """Return the text of a chat agent's answer and the tools it calls; empty for any other action."""
    if not isinstance(action, dict) or set(action) != {"text", "tool_calls"}:
        return ""
    said, calls = action["text"], action["tool_calls"]
    if not isinstance(said, str) or not isinstance(calls, list):
        return ""
    names = [str(call.get("name", "")) for call in calls[:LONGEST_ACTION] if isinstance(call, dict)]
    return " ".join(part for part in (said, ", ".join(f"{name}()" for name in names)) if part)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_ACTION else text[: LONGEST_ACTION - 1] + "…"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
