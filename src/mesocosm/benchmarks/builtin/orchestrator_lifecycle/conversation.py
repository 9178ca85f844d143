"""The environment of one scenario: user messages, tool calls on the registry, and texts that end a turn."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.prompt import SYSTEM, TOOL, tool
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.registry import Refused, TaskRegistry, kind_of
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import (
    Effect,
    ExpectedEffect,
    ReplyRule,
    Scenario,
    ScenarioTurn,
)
from mesocosm.core.message import Message
from mesocosm.core.ports import Observation, Step
from mesocosm.core.turn import Answer, CalledTool, Turn, read_answer

MOST_ROUNDS = 8
"""Maximum number of answers with tool calls in one turn."""
MOST_CALLS = 6
"""Maximum number of tool calls of one answer that are executed."""
KEPT = 4_000
"""Maximum characters of a reply; a longer one does not count as a reply to a person."""
TURNS = "turns"
_TEXTS = {"send": "input", "resume": "instruction", "reopen": "instruction", "cancel": "reason", "share": "note"}


class TurnActions(msgspec.Struct, omit_defaults=True):
    """What the agent did in one turn: changes in order, kinds of refused changes, its final text.

    `excess` names the limit that it exceeded; `over` is set when the turn has ended.
    """

    effects: list[Effect] = []
    refused: list[str] = []
    reply: str = ""
    excess: str = ""
    over: bool = False


class LifecycleEnvironment:
    """Implements core.ports.Environment for one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._registry = TaskRegistry(scenario.items, scenario.fresh)
        self._happened: list[TurnActions] = []
        self._rounds = 0

    async def reset(self) -> Observation:
        """Return the rules, the tool and the first user message."""
        return Observation(Turn((self._next(),), tools=(tool(),), system=SYSTEM).data())

    async def step(self, action: Any) -> Step:
        """Execute the calls of an answer, or take its text as the end of the turn."""
        answer = read_answer(action)
        turn = self._happened[-1]
        if answer.tool_calls and self._rounds < MOST_ROUNDS:
            self._rounds += 1
            messages = tuple(self._carried_out(answer, turn))
            return Step(Observation(Turn(messages).data()), info=self._info())
        if answer.tool_calls:
            turn.excess = f"no end after {MOST_ROUNDS} rounds of tool calls"
        turn.reply, turn.over = answer.text[: KEPT + 1], True
        if len(self._happened) == len(self._scenario.turns):
            return Step(Observation(None), terminated=True, info=self._info())
        unanswered = tuple(_result(call, {"error": turn.excess}) for call in answer.tool_calls)
        return Step(Observation(Turn((*unanswered, self._next())).data()), info=self._info())

    async def oracle(self) -> Any:
        """Return the next answer of a script that meets all expectations."""
        turn = self._scenario.turns[len(self._happened) - 1]
        return best(turn, self._rounds).data()

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _next(self) -> Message:
        turn = self._scenario.turns[len(self._happened)]
        for change in turn.before:
            self._registry.apply(change)
        self._happened.append(TurnActions())
        self._rounds = 0
        return Message("user", turn.user)

    def _carried_out(self, answer: Answer, turn: TurnActions) -> list[Message]:
        results = []
        for number, call in enumerate(answer.tool_calls):
            if number >= MOST_CALLS:
                turn.excess = f"more than {MOST_CALLS} tool calls at once"
                results.append(_result(call, {"error": turn.excess}))
            else:
                results.append(_result(call, self._call(call, turn)))
        return results

    def _call(self, call: CalledTool, turn: TurnActions) -> Any:
        arguments = call.arguments
        if call.name != TOOL:
            return {"error": f"there is no tool {call.name[:80]!r}; there is {TOOL}"}
        if not isinstance(arguments, Mapping):
            return {"error": "the arguments are not a JSON object"}
        try:
            result, effects = self._registry.call(arguments)
        except Refused as refused:
            turn.refused.append(kind_of(arguments))
            return {"error": str(refused)}
        turn.effects += effects
        return result

    def _info(self) -> dict[str, Any]:
        return {TURNS: msgspec.to_builtins(self._happened)}


def _result(call: CalledTool, result: Any) -> Message:
    return Message("tool", msgspec.json.encode(result).decode(), tool_call_id=call.id)


def best(turn: ScenarioTurn, rounds: int) -> Answer:
    """Return the answer after `rounds` of tool calls: first a look-up, then one change each, then the reply."""
    if rounds == 0:
        return Answer(tool_calls=(CalledTool(TOOL, {"action": "list_agents", "all": True}, "look"),))
    if rounds <= len(turn.effects):
        return Answer(tool_calls=(CalledTool(TOOL, _arguments(turn.effects[rounds - 1]), f"change-{rounds}"),))
    return Answer(_reply(turn.reply or ReplyRule()))


def _arguments(expected: ExpectedEffect) -> dict[str, Any]:
    kind = expected.do[0]
    words = " ".join(group[0] for group in expected.says)
    if kind == "start":
        return {"action": "create", "task": words, "agentType": expected.agent}
    said = {_TEXTS[kind]: words} if words and kind in _TEXTS else {}
    if kind in {"pause", "resume"}:
        return {"action": "control", "controlAction": kind, "taskId": expected.task, **said}
    return {"action": kind, "taskId": expected.task, **said}


def _reply(reply: ReplyRule) -> str:
    mentioned = "; ".join(group[0] for group in reply.mentions)
    return f"{mentioned} — which {reply.asks[0]}?" if reply.asks else mentioned or "Done."
