"""Agents that do the same whatever is asked; none of them may earn anything."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.conversation import TURNS, LifecycleEnvironment, TurnActions
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.generator import generate
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.judging import ScenarioVerdict, judge
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import Scenario
from mesocosm.core.message import Message
from mesocosm.core.turn import Answer, CalledTool, Turn, read_turn

Policy = Callable[[str, list[str], int], Any]
"""From what the user said, the results of this turn and the rounds so far to an action."""


async def play(scenario: Scenario, policy: Policy, *, strict: bool = True) -> ScenarioVerdict:
    """Return the verdict on a policy."""
    world = LifecycleEnvironment(scenario)
    turn = read_turn((await world.reset()).data)
    said, results, rounds = turn.messages[-1].text, list[str](), 0
    while True:
        step = await world.step(policy(said, results, rounds))
        if step.terminated:
            happened = msgspec.convert(step.info[TURNS], list[TurnActions])
            return judge(scenario, happened, strict=strict)
        heard: tuple[Message, ...] = msgspec.convert(step.observation.data, Turn).messages
        results += [message.text for message in heard if message.role == "tool"]
        rounds += 1
        if heard[-1].role == "user":
            said, results, rounds = heard[-1].text, [], 0


def calls(*arguments: dict[str, Any]) -> Any:
    """Return an answer with these calls of TASKS."""
    return Answer(tool_calls=tuple(CalledTool("TASKS", one, f"c{place}") for place, one in enumerate(arguments))).data()


def says(text: str) -> Any:
    """Return an answer without calls."""
    return Answer(text).data()


def entries(results: list[str]) -> list[dict[str, Any]]:
    """Return the tasks that the first look showed."""
    found: list[dict[str, Any]] = json.loads(results[0])["agents"]
    return found


LOOK = {"action": "list_agents", "all": True}
KINDS = ("coder", "researcher", "writer")
SLOTS = (
    "Which environment, server, table, database, cutoff, language, script, repository, queue, threshold, condition "
    "or limit do you mean?"
)


def spray(said: str, results: list[str], rounds: int) -> Any:
    """Fire all seven kinds of actions blindly and say `ok?`, as it once earned 0.917."""
    if rounds:
        return says("ok?")
    return calls(
        {"action": "create", "task": said, "agentType": "coder"},
        {"action": "send", "input": said},
        {"action": "cancel"},
        {"action": "list_agents"},
        {"action": "share"},
        {"action": "control", "controlAction": "resume", "instruction": said},
        {"action": "control", "controlAction": "pause"},
    )


def aimed_spray(said: str, results: list[str], rounds: int) -> Any:
    """Do everything to every task that there is, a few at a time, then say all that was heard."""
    if rounds == 0:
        return calls(LOOK)
    if rounds > 4:
        return says("ok? " + " ".join(results))
    task = entries(results)[(rounds - 1) % len(entries(results))]["taskId"]
    return calls(
        {"action": "control", "controlAction": "pause", "taskId": task},
        {"action": "control", "controlAction": "resume", "taskId": task, "instruction": said},
        {"action": "send", "input": said, "taskId": task},
        {"action": "share", "taskId": task},
        {"action": "cancel", "taskId": task},
        {"action": "reopen", "instruction": said, "taskId": task},
    )


def fixed(reply: str, *arguments: dict[str, Any]) -> Policy:
    """Return a policy of the same calls and the same reply."""
    return lambda said, results, rounds: calls(*arguments) if arguments and not rounds else says(reply)


def telling(*arguments: dict[str, Any]) -> Policy:
    """Return a policy of the same calls that then repeats what they gave."""
    return lambda said, results, rounds: says(f"ok? {' '.join(results)}") if rounds else calls(*arguments)


def spawning(kind: str) -> Policy:
    """Return a policy that starts a task with the user's own words and repeats what that gave."""

    def spawn(said: str, results: list[str], rounds: int) -> Any:
        start = {"action": "create", "task": said, "agentType": kind}
        return says(f"{said} {' '.join(results)}") if rounds else calls(LOOK, start)

    return spawn


def relaying(action: dict[str, Any], field: str, status: str) -> Policy:
    """Return a policy that does one thing to every task of a status, with the user's own words."""

    def relay(said: str, results: list[str], rounds: int) -> Any:
        if rounds == 0:
            return calls(LOOK)
        if rounds == 1:
            chosen = [one["taskId"] for one in entries(results) if one["status"] == status]
            return calls(*({**action, field: said, "taskId": task} for task in chosen[:6])) if chosen else says(said)
        return says(f"{said} {' '.join(results)}")

    return relay


def echo(said: str, results: list[str], rounds: int) -> Any:
    """Repeat the user's words."""
    return says(said)


def nouns(said: str, results: list[str], rounds: int) -> Any:
    """Ask back with the user's own words."""
    return says(f"Do you mean: {said.replace('.', ' ').replace('!', ' ')} - {SLOTS}")


CONTROL = {"action": "control", "controlAction": "pause"}
POLICIES: dict[str, Policy] = {
    "spray": spray,
    "aimed spray": aimed_spray,
    "empty": fixed(""),
    "refusal": fixed("I'm sorry, but I can't help with that."),
    "ok": fixed("ok?"),
    "always list": fixed("ok?", LOOK),
    "always list and tell": telling(LOOK),
    "always tell the whole history": telling({"action": "history"}, LOOK),
    "always ask": fixed("Could you please clarify what exactly you mean?"),
    "always ask for everything": fixed(SLOTS),
    "always ask with the user's words": nouns,
    "always start a coder": spawning("coder"),
    "always start a researcher": spawning("researcher"),
    "always start a writer": spawning("writer"),
    "always start nobody in particular": spawning(""),
    "send to all": relaying({"action": "send"}, "input", "running"),
    "pause all": relaying(CONTROL, "note", "running"),
    "resume all": relaying({"action": "control", "controlAction": "resume"}, "instruction", "paused"),
    "cancel all": fixed("ok?", {"action": "cancel", "all": True}),
    "reopen all": relaying({"action": "reopen"}, "instruction", "failed"),
    "share all": relaying({"action": "share"}, "note", "done"),
    "echo": echo,
    "all numbers": fixed(" ".join(f"{number}%" for number in range(100)), LOOK),
    "all ids": fixed(" ".join(f"T-{number}" for number in range(100, 1000)), LOOK),
    "huge": fixed("cancelled paused running done " * 50_000, LOOK),
    "keywords": fixed("cancelled paused resumed running done shared 50% T-100 task? which?", LOOK),
    "no such tool": lambda said, results, rounds: Answer("ok?", (CalledTool("TASK_LIST", {}, "x"),)).data(),
    "calls without end": lambda said, results, rounds: calls(LOOK),
    "a number": lambda said, results, rounds: 7,
    "nothing": lambda said, results, rounds: None,
    "a list": lambda said, results, rounds: [{"text": "ok?"}],
    "arguments that are none": lambda said, results, rounds: Answer("", (CalledTool("TASKS", "cancel", "x"),)).data(),
    "wrong types": fixed("ok?", {"action": ["cancel"], "taskId": 7, "all": "yes"}, {"action": "send", "input": {}}),
}


@pytest.mark.parametrize("name", POLICIES)
async def test_who_always_does_the_same_earns_nothing(name: str) -> None:
    assert {one.id: (await play(one, POLICIES[name])).score for one in generate(42)} == {
        one.id: 0.0 for one in generate(42)
    }


@pytest.mark.parametrize("name", [name for name in POLICIES if "start" not in name])
async def test_it_earns_nothing_either_where_violations_cost_only_their_turn(name: str) -> None:
    assert sum([(await play(one, POLICIES[name], strict=False)).score for one in generate(7)]) == 0.0


@pytest.mark.parametrize("kind", KINDS)
async def test_who_always_starts_earns_at_most_the_turns_that_ask_for_it(kind: str) -> None:
    scores = [(await play(one, spawning(kind), strict=False)).score for one in generate(42)]
    assert sum(scores) / len(scores) < 0.06
