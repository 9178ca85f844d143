"""Scenarios, their registry and what a conversation is worth."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.conversation import TURNS, LifecycleEnvironment, TurnActions
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.generator import generate
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.judging import ScenarioVerdict, folded, holds, judge
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.prompt import SYSTEM, tool
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.registry import Refused, TaskRegistry
from mesocosm.benchmarks.builtin.orchestrator_lifecycle.scenario import Effect, InitialTask, Scenario, TaskChange
from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import read_descriptor
from mesocosm.benchmarks.opening import open_benchmark
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.core.turn import Answer, CalledTool, Turn
from mesocosm.engine import session
from mesocosm.store import Store, open_store

SCENARIOS = {one.id: one for one in generate(42)}
ITEMS = (
    InitialTask("T-1", "first thing", "coder", "ada-1", "running", 31, note="at it"),
    InitialTask("T-2", "second thing", "writer", "bram-2", "paused", 42),
    InitialTask("T-3", "third thing", "writer", "cleo-3", "done", 100, result="77 pages"),
    InitialTask("T-4", "fourth thing", "coder", "dara-4", "failed", 53, note="failed: no disk"),
)


@pytest.fixture
def registry() -> TaskRegistry:
    return TaskRegistry(ITEMS, [("T-9", "edda-9")])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "results.sqlite")
    yield opened
    opened.close()


def reference(**parameters: Any) -> BenchmarkRef:
    descriptor = read_descriptor(BUILTIN / "orchestrator_lifecycle")
    (settings,) = settle([descriptor], parameters, [descriptor])
    return BenchmarkRef("benchmark", "orchestrator_lifecycle", {"knobs": dict(settings.parameters)})


def opened(**parameters: Any) -> Benchmark:
    return open_benchmark(reference(**parameters))


def effects(registry: TaskRegistry, **arguments: Any) -> list[tuple[str, str, str]]:
    return [(effect.kind, effect.task, effect.text) for effect in registry.call(arguments)[1]]


def states(registry: TaskRegistry) -> list[str]:
    return [entry.status for entry in registry.entries]


# The registry


def test_a_list_shows_what_is_not_over_and_all_of_it_on_demand(registry: TaskRegistry) -> None:
    told, changed = registry.call({"action": "list_agents"})
    assert [one["taskId"] for one in told["agents"]] == ["T-1", "T-2", "T-4"]
    assert told["hidden"].startswith("1 done or cancelled")
    assert changed == []
    assert len(registry.call({"action": "list_agents", "all": True})[0]["agents"]) == 4


def test_the_history_shows_notes_results_and_what_was_said(registry: TaskRegistry) -> None:
    registry.call({"action": "send", "taskId": "T-1", "input": "faster"})
    assert registry.call({"action": "history", "taskId": "t-1"})[0]["log"] == ["faster"]
    found = registry.call({"action": "history", "search": "THIRD"})[0]["tasks"]
    assert [one["result"] for one in found] == ["77 pages"]
    assert len(registry.call({"action": "history"})[0]["tasks"]) == 4


@pytest.mark.parametrize(
    ("arguments", "effect", "status"),
    [
        ({"action": "control", "controlAction": "pause", "taskId": "T-1"}, ("pause", "T-1", ""), "paused"),
        (
            {"action": "control", "controlAction": "resume", "taskId": "T-2", "instruction": "go"},
            ("resume", "T-2", "go"),
            "running",
        ),
        ({"action": "control", "controlAction": "continue", "taskId": "T-2"}, ("resume", "T-2", ""), "running"),
        (
            {"action": "control", "controlAction": "continue", "taskId": "T-1", "instruction": "x"},
            ("send", "T-1", "x"),
            "running",
        ),
        ({"action": "control", "controlAction": "stop", "taskId": "T-2"}, ("cancel", "T-2", ""), "cancelled"),
        ({"action": "control", "controlAction": "reopen", "taskId": "T-4"}, ("reopen", "T-4", ""), "running"),
        ({"action": "cancel", "taskId": "T-4", "reason": "old"}, ("cancel", "T-4", "old"), "cancelled"),
        ({"action": "stop_agent", "sessionId": "ada-1"}, ("cancel", "T-1", ""), "cancelled"),
        ({"action": "reopen", "taskId": "T-3", "instruction": "more"}, ("reopen", "T-3", "more"), "running"),
        ({"action": "share", "taskId": "T-3"}, ("share", "T-3", ""), "done"),
        ({"action": "send", "sessionId": "ADA-1", "input": "hi"}, ("send", "T-1", "hi"), "running"),
    ],
)
def test_every_action_changes_the_state_and_says_what_it_changed(
    registry: TaskRegistry, arguments: dict[str, Any], effect: tuple[str, str, str], status: str
) -> None:
    assert effects(registry, **arguments) == [effect]
    assert next(entry.status for entry in registry.entries if entry.id == effect[1]) == status


def test_a_started_task_is_in_the_registry_from_then_on(registry: TaskRegistry) -> None:
    told, changed = registry.call({"action": "spawn_agent", "task": "Write a poem", "agentType": "writer"})
    assert (told["taskId"], told["status"], told["progress"]) == ("T-9", "running", "0%")
    assert changed == [Effect("start", "T-9", "Write a poem", "writer")]
    assert effects(registry, action="cancel", taskId="T-9") == [("cancel", "T-9", "")]


def test_cancelling_everything_cancels_what_is_open_and_failed(registry: TaskRegistry) -> None:
    assert len(effects(registry, action="cancel", all=True)) == 3
    assert states(registry) == ["cancelled", "cancelled", "done", "cancelled"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"action": "dance"},
        {"action": ["cancel"]},
        {"action": "cancel"},
        {"action": "cancel", "taskId": "T-77"},
        {"action": "cancel", "taskId": "T-3"},
        {"action": "control", "controlAction": "pause", "taskId": "T-2"},
        {"action": "control", "controlAction": "resume", "taskId": "T-1"},
        {"action": "control", "controlAction": "continue", "taskId": "T-1"},
        {"action": "control", "controlAction": "fly", "taskId": "T-1"},
        {"action": "control", "controlAction": "reopen", "taskId": "T-1"},
        {"action": "reopen", "taskId": "T-2"},
        {"action": "share", "taskId": "T-1"},
        {"action": "send", "taskId": "T-2", "input": "x"},
        {"action": "send", "taskId": "T-1", "input": "  "},
        {"action": "send", "taskId": "T-1", "input": "x" * 2_001},
        {"action": "create", "task": "x"},
        {"action": "create", "task": "", "agentType": "coder"},
        {"action": "create", "task": "x", "agentType": "pilot"},
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(registry: TaskRegistry, arguments: dict[str, Any]) -> None:
    before = msgspec.json.encode([entry.whole() for entry in registry.entries])
    with pytest.raises(Refused):
        registry.call(arguments)
    assert msgspec.json.encode([entry.whole() for entry in registry.entries]) == before


def test_a_result_is_shared_once(registry: TaskRegistry) -> None:
    registry.call({"action": "share", "taskId": "T-3"})
    with pytest.raises(Refused, match="already"):
        registry.call({"action": "share", "taskId": "T-3"})


def test_time_passes_only_for_what_is_at_work(registry: TaskRegistry) -> None:
    for task in ("T-1", "T-3", "T-77"):
        registry.apply(TaskChange(task, progress=64, note="later"))
    assert [entry.progress for entry in registry.entries] == [64, 42, 100, 53]


# The scenarios


def test_there_are_twelve_intents_of_four_wordings_and_each_intent_is_a_cluster() -> None:
    tasks = list(opened().tasks(Selection()))
    assert len(tasks) == len({task.id for task in tasks}) == 48
    clusters = [task.cluster for task in tasks]
    assert {clusters.count(cluster) for cluster in clusters} == {4}
    assert len({task.target["turns"][0]["user"] for task in tasks}) == 48


def test_equal_seeds_give_equal_scenarios_and_another_seed_others() -> None:
    assert opened(seed=3).info.digest == opened(seed=3).info.digest
    assert opened(seed=3).info.digest != opened(seed=4).info.digest
    digests = {task.digest() for task in opened(seed=3).tasks(Selection())}
    assert digests.isdisjoint(task.digest() for task in opened(seed=4).tasks(Selection()))


def test_twelve_scenarios_are_the_twelve_intents() -> None:
    benchmark = opened(max_scenarios=12)
    assert len({task.cluster for task in benchmark.tasks(Selection(count=12))}) == 12


def test_a_filter_takes_ids_with_hyphens_or_underscores_and_says_when_none_is_left() -> None:
    assert opened(scenario_filter="cancel-task").count(Selection()) == 4
    assert opened(scenario_filter="cancel").count(Selection()) == 8
    with pytest.raises(UsageError, match="scenario_filter"):
        _ = opened(scenario_filter="nothing like it").info


def test_strictness_is_part_of_the_identity_and_mode_is_not() -> None:
    assert opened(strict=False).info.digest != opened().info.digest
    assert opened(mode="simulate").info.digest == opened().info.digest


@pytest.mark.parametrize("seed", range(12))
def test_no_word_of_the_user_gives_a_fact_of_the_registry_away(seed: int) -> None:
    for scenario in generate(seed):
        said = SYSTEM + " ".join(turn.user for turn in scenario.turns)
        numbers = [str(item.progress) for item in scenario.items if item.progress < 100]
        ids = [item.id for item in scenario.items] + [identifier for identifier, _ in scenario.fresh]
        hidden = [*ids, *numbers, *(item.session for item in scenario.items)]
        assert [word for word in hidden if holds(folded(said), word)] == []


@pytest.mark.parametrize("seed", range(12))
def test_every_placeholder_is_filled_and_no_reply_must_hold_what_it_must_omit(seed: int) -> None:
    for scenario in generate(seed):
        assert not re.search(r"[{}]", " ".join(turn.user for turn in scenario.turns))
        for turn in scenario.turns:
            assert turn.reply is not None
            for word in turn.reply.omits:
                assert not any(holds(folded(group[0]), word) for group in turn.reply.mentions)


def test_a_task_shows_the_first_message_alone_and_keeps_what_is_expected_apart() -> None:
    for task in opened().tasks(Selection()):
        assert task.input.keys() == {"title", "message"}
        assert task.input["message"] == task.target["turns"][0]["user"]


async def test_the_agent_is_told_the_rules_the_tool_and_what_the_user_says() -> None:
    scenario = SCENARIOS["cancel_task-plain"]
    shown = msgspec.convert((await LifecycleEnvironment(scenario).reset()).data, Turn)
    assert shown.system == SYSTEM
    assert shown.tools == (tool(),)
    assert [message.text for message in shown.messages] == [scenario.turns[0].user]


# What a conversation is worth


def look() -> Any:
    return Answer(tool_calls=(CalledTool("TASKS", {"action": "list_agents", "all": True}, "look"),)).data()


def call(**arguments: Any) -> Any:
    return Answer(tool_calls=(CalledTool("TASKS", arguments, "x"),)).data()


def say(text: str) -> Any:
    return Answer(text).data()


async def verdict(scenario: Scenario, actions: Sequence[Any], *, strict: bool = True) -> ScenarioVerdict:
    world = LifecycleEnvironment(scenario)
    await world.reset()
    info: dict[str, Any] = {}
    for action in actions:
        info = (await world.step(action)).info
    return judge(scenario, msgspec.convert(info[TURNS], list[TurnActions]), strict=strict)


def key(scenario: Scenario, place: int = 0) -> InitialTask:
    """Return the task that the effects of the first turn name, in their order."""
    return next(item for item in scenario.items if item.id == scenario.turns[0].effects[place].task)


async def test_the_right_action_with_a_true_report_earns_everything() -> None:
    scenario = SCENARIOS["cancel_task-plain"]
    target = key(scenario)
    reply = say(f"Cancelled: {target.title}, which had come to {target.progress} %.")
    assert (await verdict(scenario, [look(), call(action="cancel", taskId=target.id), reply])).score == 1.0


async def test_a_report_of_what_was_not_done_earns_nothing() -> None:
    scenario = SCENARIOS["cancel_task-plain"]
    target = key(scenario)
    found = await verdict(scenario, [look(), say(f"Cancelled {target.title} at {target.progress}%.")])
    assert found.score == 0.0
    assert "was not done" in found.explanation


async def test_the_wrong_target_costs_the_turn() -> None:
    scenario = SCENARIOS["cancel_task-plain"]
    target = key(scenario)
    other = next(item for item in scenario.items if item.id != target.id)
    actions = [call(action="cancel", taskId=one.id) for one in (target, other)]
    found = await verdict(scenario, [*actions, say(f"{target.title} {target.progress}%")], strict=False)
    assert (found.score, found.violations) == (0.0, 1)
    assert f"cancel {other.id} was not asked for" in found.explanation


async def test_a_refused_try_of_the_right_kind_costs_nothing_and_of_another_kind_does() -> None:
    scenario = SCENARIOS["cancel_task-plain"]
    target = key(scenario)
    end = [call(action="cancel", taskId=target.id), say(f"{target.id}: {target.progress}%")]
    assert (await verdict(scenario, [call(action="cancel", taskId="T-1"), *end])).score == 1.0
    assert (await verdict(scenario, [call(action="share", taskId="T-1"), *end])).score == 0.0


async def test_a_refusal_that_tells_how_a_task_goes_on_costs_nothing() -> None:
    scenario = SCENARIOS["failure_recovery_and_replan-due"]
    (target,) = [item for item in scenario.items if item.status == "failed"]
    resume = call(action="control", controlAction="resume", taskId=target.id)
    reopen = call(action="reopen", taskId=target.id, instruction="on the copy of the data from Sunday")
    told = say(f"It failed: {target.note}")
    assert (await verdict(scenario, [told, resume, reopen, say(target.title)])).score == 1.0
    assert (await verdict(scenario, [resume, told, reopen, say(target.title)])).score == 0.0


async def test_the_order_that_was_asked_for_matters() -> None:
    scenario = SCENARIOS["pause_then_resume_with_updates-licence"]
    pause, resume = key(scenario), key(scenario, 1)
    actions = [
        call(action="control", controlAction="pause", taskId=pause.id),
        call(action="control", controlAction="resume", taskId=resume.id),
    ]
    reply = say(f"{pause.title} rests, {resume.title} runs")
    in_order = await verdict(scenario, [*actions, reply])
    assert (in_order.turns[0].passed, in_order.turns[0].checks) == (3, 3)
    swapped = await verdict(scenario, [*reversed(actions), reply])
    assert (swapped.turns[0].passed, swapped.turns[0].failed[0]) == (1, f"resume {resume.id} came too early")


async def test_an_instruction_must_hold_all_that_the_user_said() -> None:
    scenario = SCENARIOS["scope_change_midflight-years"]
    target = key(scenario)
    reply = say(f"{target.title} ({target.progress}%)")
    for text, passed in (("only 2021 to 2024", 2), ("only 2021", 0), ("as the user said", 0)):
        found = await verdict(scenario, [call(action="send", taskId=target.id, input=text), reply])
        assert found.turns[0].passed == passed


async def test_the_kind_of_the_sub_agent_matters() -> None:
    scenario = SCENARIOS["code_request_requires_shell-flaky"]
    task = "run the tests fifty times, list flaky ones"
    for kind, passed in (("coder", 2), ("writer", 0)):
        started = call(action="create", task=task, agentType=kind)
        found = await verdict(scenario, [started, say(scenario.fresh[0][0])])
        assert found.turns[0].passed == passed


async def test_a_second_start_is_one_too_many() -> None:
    scenario = SCENARIOS["code_request_requires_shell-flaky"]
    start = call(action="create", task="run the tests fifty times, list flaky ones", agentType="coder")
    found = await verdict(scenario, [start, start, say(scenario.fresh[0][0])])
    assert found.violations > 0
    assert found.score == 0.0


async def test_a_question_counts_only_when_its_answer_is_put_to_use() -> None:
    scenario = SCENARIOS["underspecified_requires_clarification-deploy"]
    ask = say("Sure. Which environment should it go to?")
    start = call(action="create", task="Roll out 4.2 to staging after green smoke tests", agentType="coder")
    reply = say(f"Started as {scenario.fresh[0][0]}.")
    assert (await verdict(scenario, [ask, start, reply])).score == 1.0
    assert (await verdict(scenario, [ask, ask])).score == 0.0
    assert (await verdict(scenario, [say("Which one?"), start, reply])).turns[0].passed == 0
    assert (await verdict(scenario, [start, ask, reply])).score == 0.0


async def test_a_violation_costs_its_turn_or_everything_when_strict() -> None:
    scenario = SCENARIOS["check_in_while_running-plain"]
    target = next(item for item in scenario.items if f"the {item.title} " in scenario.turns[0].user)
    first = [look(), say(f"{target.progress}%, session {target.session}")]
    second = [call(action="control", controlAction="pause", taskId=target.id), say("?")]
    assert (await verdict(scenario, [*first, *second], strict=False)).score == 0.5
    assert (await verdict(scenario, [*first, *second])).score == 0.0


async def test_facts_that_were_not_asked_for_spoil_a_report() -> None:
    scenario = SCENARIOS["check_in_while_running-plain"]
    target = next(item for item in scenario.items if f"the {item.title} " in scenario.turns[0].user)
    others = " ".join(f"{item.progress}%" for item in scenario.items if item.id != target.id)
    for reply, passed in (
        (f"{target.progress}% in {target.session}", 1),
        (f"{target.progress}% {target.session} {others}", 0),
    ):
        assert (await verdict(scenario, [say(reply)])).turns[0].passed == passed


async def test_a_conversation_that_breaks_off_keeps_what_it_had_earned() -> None:
    scenario = SCENARIOS["scope_change_midflight-dark"]
    target = key(scenario)
    actions = [
        call(action="send", taskId=target.id, input="dark mode too"),
        say(f"{target.id} {target.progress}%"),
        look(),
    ]
    found = await verdict(scenario, actions)
    assert [turn.passed for turn in found.turns] == [2, 0]
    assert found.score == 0.5


async def test_too_many_calls_at_once_and_calls_without_end_are_stopped() -> None:
    scenario = SCENARIOS["cancel_task-plain"]
    many = Answer(tool_calls=tuple(CalledTool("TASKS", {"action": "history"}, str(place)) for place in range(7))).data()
    assert "tool calls at once" in (await verdict(scenario, [many, say("x")])).explanation
    endless = await verdict(scenario, [look()] * 9)
    assert "rounds of tool calls" in endless.explanation


async def test_every_call_of_an_answer_has_its_result() -> None:
    world = LifecycleEnvironment(SCENARIOS["cancel_task-plain"])
    await world.reset()
    odd = (
        CalledTool("TASKS", "no object", "a"),
        CalledTool("OTHER", {}, "b"),
        CalledTool("TASKS", {"action": "history"}, "c"),
    )
    shown = msgspec.convert((await world.step(Answer("", odd).data())).observation.data, Turn)
    assert [message.tool_call_id for message in shown.messages] == ["a", "b", "c"]
    assert ["error" in message.text for message in shown.messages] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "word", "found"),
    [
        ("It is at 62%.", "62", True),
        ("It is at 162%.", "62", False),
        ("Python 3.12", "12", False),
        ("12.5 percent", "12", False),
        ("done: 4,183 records", "4183", True),
        ("Invoice\nexport", "invoice export", True),
        ("the invoice-export task", "invoice export", True),
        ("invoice exports", "invoice export", False),
        ("t-417", "T-417", True),
        ("T-4170", "T-417", False),
    ],
)
def test_words_and_numbers_are_found_as_a_whole(text: str, word: str, found: bool) -> None:
    assert holds(folded(text), word) is found


# Whole runs


async def test_a_grade_without_a_conversation_is_nothing() -> None:
    benchmark = opened()
    task = next(benchmark.tasks(Selection()))
    scores = await benchmark.grade(task, Episode("e", "r", task.digest(), task.id))
    assert scores[0].value == 0.0


@pytest.mark.parametrize(("model", "score"), [("oracle", 1.0), ("empty", 0.0), ("random", 0.0)])
async def test_ceiling_and_floor(store: Store, model: str, score: float) -> None:
    spec = RunSpec(reference(), ModelSettings(f"builtin/{model}", max_tokens=1024), AgentSettings("chat"), Selection())
    run = await session.run(spec, store)
    found = {metric.name: metric for metric in run.metrics}
    assert (found["score"].value, found["score"].n_scored, found["score"].n_tasks) == (score, 48, 12)
    assert found["scenario_pass_rate"].value == score
    assert {name: found[name].n_scored for name in found if name.endswith(("_rate", "_quality"))} == {
        "scenario_pass_rate": 48,
        "capability_selection_rate": 8,
        "clarification_success_rate": 4,
        "completion_summary_quality": 4,
        "intake_success_rate": 4,
        "interruption_handling_rate": 12,
        "recovery_success_rate": 4,
        "scope_change_success_rate": 4,
        "status_accuracy_rate": 8,
    }
    assert all(metric.n_planned == metric.n_scored for metric in run.metrics)
