"""The script that does all that a turn expects: look, change in order, reply."""

from typing import Any

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.prompt import TOOL
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import ExpectedEffect, ReplyRule, ScenarioTurn
from mesocosm.core.turn import Answer, CalledTool

_TEXTS = {"send": "input", "resume": "instruction", "reopen": "instruction", "cancel": "reason", "share": "note"}


def best(turn: ScenarioTurn, rounds: int) -> Answer:
    """Return the answer after `rounds` of tool calls: first a look, then one change in each, then the reply."""
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
    told = "; ".join(group[0] for group in reply.mentions)
    return f"{told} — which {reply.asks[0]}?" if reply.asks else told or "Done."
