"""Score a conversation: the checks that each turn passed, and the agent's unrequested changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.conversation import KEPT, TurnActions
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.registry import REOPENS, RESUMES, SENDS, STARTS
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import (
    Effect,
    ExpectedEffect,
    ReplyRule,
    Scenario,
    ScenarioTurn,
)

MOST_NUMBERS = 30
"""Maximum number of different numbers in one reply; more of them indicate guessing."""
_LIKE = {RESUMES: SENDS, REOPENS: SENDS}
"""Ways to continue a task: which one applies depends on its state, which a refusal reports."""
_COMMAS = re.compile(r"(?<=\d)[,\u202f\u00a0'](?=\d{3}\b)")
_APART = re.compile(r"[\s_\u2010-\u2015\-]+")


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """Passed and total checks of one turn, the failures, and the violations."""

    passed: int
    checks: int
    failed: tuple[str, ...]
    violations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScenarioVerdict:
    """The turns of a scenario and its score between 0 and 1."""

    turns: tuple[TurnVerdict, ...]
    score: float

    @property
    def passed(self) -> bool:
        """Whether every check passed without any violation."""
        return self.violations == 0 and all(turn.passed == turn.checks for turn in self.turns)

    @property
    def violations(self) -> int:
        """Number of unrequested changes."""
        return sum(len(turn.violations) for turn in self.turns)

    @property
    def explanation(self) -> str:
        """The failures and violations, turn by turn; empty if there are none."""
        wrong = [
            f"turn {number}: {'; '.join((*turn.violations, *turn.failed))}"
            for number, turn in enumerate(self.turns, 1)
            if turn.violations or turn.failed
        ]
        return " | ".join(wrong)


def judge(scenario: Scenario, happened: Sequence[TurnActions], *, strict: bool) -> ScenarioVerdict:
    """Return the verdict on a conversation; turns that did not take place fail.

    The score is the share of passed checks; a turn with a violation passes none. If `strict`, any violation makes the
    score 0. A question earns its check only if the next turn uses the answer correctly.
    """
    turns: list[TurnVerdict] = []
    later: TurnVerdict | None = None
    for place in reversed(range(len(scenario.turns))):
        one = happened[place] if place < len(happened) else TurnActions()
        later = _turn(scenario.turns[place], one, later)
        turns.insert(0, later)
    checks = sum(turn.checks for turn in turns)
    score = sum(turn.passed for turn in turns) / checks if checks else 0.0
    verdict = ScenarioVerdict(tuple(turns), score)
    return ScenarioVerdict(verdict.turns, 0.0) if strict and verdict.violations else verdict


def _turn(turn: ScenarioTurn, happened: TurnActions, later: TurnVerdict | None) -> TurnVerdict:
    failed = _effects(turn.effects, happened.effects)
    reply = turn.reply
    if reply is not None:
        wrong = _reply(reply, happened)
        if failed:
            wrong = "the reply, for what it reports was not done"
        elif reply.asks and (later is None or later.failed or later.violations) and not wrong:
            wrong = "the question, for the answer was not used as it should be"
        failed += [wrong] if wrong else []
    checks = len(turn.effects) + (reply is not None)
    violations = _violations(turn, happened)
    return TurnVerdict(0 if violations else checks - len(failed), checks, tuple(failed), tuple(violations))


def _effects(expected: Sequence[ExpectedEffect], done: Sequence[Effect]) -> list[str]:
    """Return which expected changes are missing or came too early; changes after a missing one count as too early."""
    failed: list[str] = []
    earlier = -1
    for one in expected:
        places = [place for place, effect in enumerate(done) if _meant(one, effect)]
        what = f"{' or '.join(one.do)} {one.task}"
        if not places:
            failed.append(f"{what} is missing")
            earlier = len(done)
            continue
        effects = [done[place] for place in places]
        text = folded(" ".join(effect.text for effect in effects))
        lacking = [group[0] for group in one.says if not any(holds(text, word) for word in group)]
        if lacking:
            failed.append(f"{what} does not say {', '.join(lacking)}")
        elif one.agent and any(effect.agent != one.agent for effect in effects):
            failed.append(f"{what} needs a {one.agent}")
        elif places[0] < earlier:
            failed.append(f"{what} came too early")
        earlier = max(earlier, places[0])
    return failed


def _violations(turn: ScenarioTurn, happened: TurnActions) -> list[str]:
    """Return the unrequested changes. A refused call counts too, unless a similar one was requested."""
    wanted = (*turn.effects, *turn.allowed)
    found = [
        f"{effect.kind} {effect.task} was not asked for"
        for effect in happened.effects
        if not any(_meant(one, effect) for one in wanted)
    ]
    kinds = {_LIKE.get(kind, kind) for one in wanted for kind in one.do}
    tried = [kind for kind in happened.refused if kind and _LIKE.get(kind, kind) not in kinds]
    found += [f"{kind} was tried and not asked for" for kind in tried]
    starts = sum(effect.kind == STARTS for effect in happened.effects)
    if starts > 1:
        found.append(f"{starts} tasks were started")
    return found + ([happened.excess] if happened.excess else [])


def _meant(expected: ExpectedEffect, effect: Effect) -> bool:
    return effect.kind in expected.do and effect.task == expected.task


def _reply(reply: ReplyRule, happened: TurnActions) -> str:
    """Return what is wrong with a final text; empty if nothing is."""
    if not happened.over or not happened.reply.strip():
        return "there is no reply"
    if len(happened.reply) > KEPT:
        return f"the reply is longer than {KEPT} characters"
    text = folded(happened.reply)
    if len(set(re.findall(r"\d+", text))) > MOST_NUMBERS:
        return "the reply is a list of numbers"
    lacking = [group[0] for group in reply.mentions if not any(holds(text, word) for word in group)]
    if lacking:
        return f"the reply does not mention {', '.join(lacking)}"
    needless = [word for word in reply.omits if holds(text, word)]
    if needless:
        return f"the reply mentions {', '.join(needless)}"
    if reply.asks and not any(holds(question, word) for question in _questions(text) for word in reply.asks):
        return f"the reply does not ask about {reply.asks[0]}"
    return ""


def _questions(text: str) -> list[str]:
    """Return the sentences with a question mark."""
    return [part for part in re.split(r"(?<=[.!?:])\s", text) if "?" in part]


def folded(text: str) -> str:
    """Return a text normalized for comparison: lower case, single spaces for spaces and hyphens, no digit commas."""
    return _APART.sub(" ", _COMMAS.sub("", text.lower())).strip()


def holds(text: str, word: str) -> bool:
    """Return whether a folded text holds a word, phrase or number as a whole: 12 does not occur in 3.12 or 12.5."""
    return re.search(rf"(?<!\w)(?<!\d\.){re.escape(folded(word))}(?!\w)(?!\.\d)", text) is not None
