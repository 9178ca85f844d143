"""Two episodes against each other, step by step: where they part ways, and whether the agent or the environment did."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest_bytes
from mesocosm.core.one_line import answer_line, call_line, cut
from mesocosm.core.turn import CalledTool
from mesocosm.engine.comparison.alignment import Pairs, align, common_prefix

MOST_STEPS = 5_000
"""Steps of an episode that are compared; of a longer one only the first."""

SHOWN = 160
"""Characters of an action on its line."""

_IDENTITIES = frozenset({"id", "tool_call_id"})
"""Names of tool calls that a model server makes up: they differ where nothing does."""


class PairFinding(StrEnum):
    """What sets two episodes apart first.

    `action`: the agents did something else; `environment`: after equal actions something else was seen, or another
    reward given; `failure`: one of them failed; `ended`: one of them went on; `other_task`: they are not of the same
    task, and so not compared.
    """

    SAME = "same"
    ACTION = "action"
    ENVIRONMENT = "environment"
    FAILURE = "failure"
    ENDED = "ended"
    OTHER_TASK = "other_task"


Change = Literal["same", "effect", "action", "only_a", "only_b"]
"""How a step differs: not at all, in what came of the same action, in the action, or it is of one episode alone."""


@dataclass(slots=True)
class PlayedStep:
    """A step of an episode: its action on one line, and what came of it. Number 0 is what was there at first.

    `action_key` and `effect_key` are equal where actions and effects are; `seen_key` is what was observed after it.
    """

    number: int
    step: int
    first_event: int
    events: int = 0
    action: str = ""
    reward: float | None = None
    failure: str = ""
    action_key: str = ""
    seen_key: str = ""
    effect_key: str = ""


@dataclass(frozen=True, slots=True)
class Moves:
    """The steps of an episode; `by` says what one is: a step of an environment, or a call of a model by a program.

    `whole` unless it has more than MOST_STEPS.
    """

    steps: tuple[PlayedStep, ...]
    by: Literal["step", "call"]
    whole: bool = True

    @property
    def repeated(self) -> int:
        """How many actions were taken before in the same episode."""
        taken = [move.action_key for move in self.steps[1:]]
        return len(taken) - len(set(taken))

    @property
    def in_vain(self) -> int:
        """After how many actions the same was seen as before them."""
        return sum(one.seen_key == other.seen_key != "" for one, other in zip(self.steps, self.steps[1:], strict=False))


@dataclass(frozen=True, slots=True)
class AlignedStep:
    """A step of both episodes, or of one if the other has no counterpart."""

    a: PlayedStep | None
    b: PlayedStep | None
    change: Change


@dataclass(frozen=True, slots=True)
class EpisodePair:
    """Two episodes, aligned. `first` is the number of the first step that differs; None if none does."""

    finding: PairFinding
    words: str
    first: int | None
    steps: tuple[AlignedStep, ...]
    a: Moves
    b: Moves

    @property
    def whole(self) -> bool:
        """Whether all steps of both are compared."""
        return self.a.whole and self.b.whole


@dataclass(slots=True)
class _Step:
    """What happened in a step so far."""

    step: int
    first: int
    events: int = 0
    actions: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    rewards: list[Any] = field(default_factory=list)
    failure: str = ""

    def did(self, action: Any, role: str = "") -> None:
        """Add an action."""
        self.actions.append([role, _without_identities(action)])
        line = _line(action)
        self.lines.append(f"{role}: {line}" if role else line)

    def move(self, number: int) -> PlayedStep:
        """Return the step as it is compared."""
        given = [reward for reward, _over in self.rewards if isinstance(reward, int | float)]
        seen = _key(self.seen) if self.seen else ""
        return PlayedStep(
            number=number,
            step=self.step,
            first_event=self.first,
            events=self.events,
            action=" · ".join(self.lines)[: 2 * SHOWN],
            reward=float(sum(given)) if given else None,
            failure=self.failure,
            action_key=_key(self.actions),
            seen_key=seen,
            effect_key=_key([seen, self.rewards, self.failure]),
        )


def read_moves(events: Iterable[Event]) -> Moves:
    """Return the steps of an episode from its events.

    A step is one of the environment. A program that took no action, as a rollout, has a step for each call of its
    model instead; what its tools returned before the next call came of it. Calls of judges are not steps.
    """
    steps: list[_Step] = []
    calls: list[_Step] = []
    acted, whole = False, True
    for event in events:
        payload = event.payload if isinstance(event.payload, dict) else {}
        if not steps or event.step > steps[-1].step:
            if len(steps) > MOST_STEPS or len(calls) > MOST_STEPS:
                whole = False
                break
            steps.append(_Step(event.step, event.seq))
        if not calls or (event.kind is Kind.MODEL_CALL and "role" not in payload):
            calls.append(_Step(event.step, event.seq))
        acted = acted or event.kind is Kind.ACTION
        _take(steps[-1], event.kind, payload)
        _take_call(calls[-1], event.kind, payload, first=len(calls) == 1)
    if acted or len(calls) < 2:
        return Moves(tuple(step.move(step.step) for step in steps), "step", whole)
    return Moves(tuple(call.move(number) for number, call in enumerate(calls)), "call", whole)


def _take(step: _Step, kind: Kind, payload: dict[str, Any]) -> None:
    step.events += 1
    if kind is Kind.ACTION:
        step.did(payload.get("action"), str(payload.get("role") or ""))
    elif kind is Kind.OBSERVATION:
        step.seen.append([payload.get("content_type", ""), _without_identities(payload.get("data"))])
    elif kind is Kind.STEP_RESULT:
        over = bool(payload.get("terminated") or payload.get("truncated"))
        step.rewards.append([payload.get("reward"), over])
    elif kind is Kind.ERROR:
        step.failure = str(payload.get("cause", "error"))


def _take_call(call: _Step, kind: Kind, payload: dict[str, Any], *, first: bool) -> None:
    if kind is Kind.MODEL_CALL and "role" not in payload:
        call.did({"text": payload.get("text") or "", "tool_calls": payload.get("tool_calls") or []})
        call.events += 1
    elif kind is Kind.MESSAGE and payload.get("role") == "tool":
        call.seen.append(payload.get("content"))
        call.events += 1
    elif kind is not Kind.OBSERVATION or first:
        # What a program ends with repeats its conversation.
        _take(call, kind, payload)
    else:
        call.events += 1


def compare_episodes(one: Episode, moves: Moves, other: Episode, other_moves: Moves) -> EpisodePair:
    """Return two episodes of a task aligned: their common beginning, then the cheapest alignment of what follows.

    Episodes of different tasks have no steps in common, so they are not aligned.
    """
    if one.task_digest != other.task_digest:
        same_name = one.task_id == other.task_id
        words = "These episodes are of different tasks, so their steps are not compared."
        if same_name:
            words = f"Task {one.task_id} has another content in these episodes, so their steps are not compared."
        return EpisodePair(PairFinding.OTHER_TASK, words, None, (), moves, other_moves)
    a, b = moves.steps, other_moves.steps
    steps = tuple(_aligned(None if i is None else a[i], None if j is None else b[j]) for i, j in _pairs(a, b))
    same = common_prefix([move.action_key for move in a], [move.action_key for move in b])
    changed = next((place for place in range(same) if a[place].effect_key != b[place].effect_key), None)
    finding, first = _finding(same, changed, a, b)
    words = _words(finding, first, moves, other_moves, other_seed=one.seed != other.seed)
    return EpisodePair(finding, words, first, steps, moves, other_moves)


def _pairs(a: Sequence[PlayedStep], b: Sequence[PlayedStep]) -> Pairs:
    """Return the alignment by actions if it finds half of the steps again, else by actions with what came of them.

    Of a few possible actions, any two sequences share many, in another order and in other states: that says nothing.
    """
    by_action = align([move.action_key for move in a], [move.action_key for move in b])
    again = sum(i is not None and j is not None and a[i].action_key == b[j].action_key for i, j in by_action)
    if 2 * again >= max(len(a), len(b)):
        return by_action
    keys = [[(move.action_key, move.effect_key if move.number else "") for move in moves] for moves in (a, b)]
    return align(*keys)


def _aligned(a: PlayedStep | None, b: PlayedStep | None) -> AlignedStep:
    change: Change = "same"
    if a is None or b is None:
        change = "only_b" if a is None else "only_a"
    elif a.action_key != b.action_key:
        change = "action"
    elif a.effect_key != b.effect_key:
        change = "effect"
    return AlignedStep(a, b, change)


def _finding(
    same: int, changed: int | None, a: Sequence[PlayedStep], b: Sequence[PlayedStep]
) -> tuple[PairFinding, int | None]:
    place = same if changed is None else changed
    if place < min(len(a), len(b)):
        if bool(a[place].failure) != bool(b[place].failure):
            return PairFinding.FAILURE, a[place].number
        return PairFinding.ACTION if changed is None else PairFinding.ENVIRONMENT, a[place].number
    if len(a) != len(b):
        longer = a if len(a) > len(b) else b
        return PairFinding.ENDED, longer[same].number
    return PairFinding.SAME, None


def _words(finding: PairFinding, first: int | None, a: Moves, b: Moves, *, other_seed: bool) -> str:
    unit = "Call" if a.by == b.by == "call" else "Step"
    actions = max(len(a.steps), len(b.steps)) - 1
    if finding is PairFinding.SAME:
        return "Both did the same, and the same came of it." if actions else "Neither did anything."
    if finding is PairFinding.FAILURE:
        failed = {name: move.failure for name, of in (("A", a), ("B", b)) for move in of.steps if move.number == first}
        side = "A" if failed["A"] else "B"
        return f"{unit} {first}: the same until here, then {side} failed ({failed[side]})."
    if finding is PairFinding.ENVIRONMENT:
        why = "Their seeds differ." if other_seed else "Task and seed are the same, so it is not deterministic."
        if first == 0:
            return "They began differently: not the same was shown to both before the first action."
        return f"{unit} {first}: the same action, and something else came of it. {why}"
    if finding is PairFinding.ENDED:
        ended, went_on = ("A", "B") if len(a.steps) < len(b.steps) else ("B", "A")
        more = abs(len(a.steps) - len(b.steps))
        return f"The same until {ended} ended; {went_on} went on for {more:,} {unit.lower()}{'s' * (more > 1)}."
    if actions == 1:
        return "The same question, another reply."
    return f"{unit} {first}: the same until here, then another action."


def _line(action: Any) -> str:
    """Return an action on one line; a call that is written as JSON as `name(argument=value)`."""
    if isinstance(action, str) and action.startswith("{"):
        try:
            action = msgspec.json.decode(action)
        except (msgspec.DecodeError, UnicodeEncodeError):
            return answer_line(action, SHOWN)
    if isinstance(action, dict) and action.keys() <= {"tool", "name", "arguments"}:
        name = action.get("tool") or action.get("name")
        if isinstance(name, str):
            return cut(call_line(CalledTool(name, action.get("arguments", {}))), SHOWN)
    return answer_line(action, SHOWN)


def _key(value: Any) -> str:
    try:
        data = msgspec.json.encode(value, order="sorted")
    except (OverflowError, RecursionError, TypeError, ValueError):  # a number beyond 64 bits, or half a character
        data = repr(value).encode("utf-8", "surrogatepass")
    return digest_bytes(data)


def _without_identities(value: Any) -> Any:
    """Return an action or a turn without the ids of its tool calls."""
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("tool_calls"), list):
        value = {**value, "tool_calls": list(map(_nameless, value["tool_calls"]))}
    if isinstance(value.get("messages"), list):
        value = {**value, "messages": [_nameless(_without_identities(one)) for one in value["messages"]]}
    return value


def _nameless(value: Any) -> Any:
    return {name: item for name, item in value.items() if name not in _IDENTITIES} if isinstance(value, dict) else value
