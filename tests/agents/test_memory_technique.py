from typing import Any

from mesocosm.agents.loop import open_loop
from mesocosm.agents.memory import Memory, MemoryParams
from mesocosm.core.ports import Observation, Step
from mesocosm.testing.context import MemoryContext, ScriptedEnvironment


async def remembered(steps: int, role: str = "", **params: Any) -> list[str]:
    memory = Memory(MemoryParams(**params))
    lines = memory.sections(Observation("start"), 1, role)["Recent History"].split("\n")
    for number in range(1, steps + 1):
        await memory.after_step(f"act{number}", Step(Observation(f"seen{number}"), number / 2), number, role)
        lines = memory.sections(Observation(""), number + 1, role)["Recent History"].split("\n")
    return lines


async def test_begins_with_the_first_observation() -> None:
    assert await remembered(0) == ["Start: observation start"]


async def test_shows_number_action_reward_and_observation_of_each_step() -> None:
    assert (await remembered(2))[1:] == [
        "Step 1: action act1, reward 0.5, observation seen1",
        "Step 2: action act2, reward 1, observation seen2",
    ]


async def test_says_first_which_steps_are_not_shown() -> None:
    lines = await remembered(5, window_size=2)
    assert lines[:2] == ["(Steps 1 to 3 are not shown.)", "Start: observation start"]
    assert [line[:7] for line in lines[2:]] == ["Step 4:", "Step 5:"]
    assert (await remembered(3, window_size=2))[0] == "(Step 1 is not shown.)"


async def test_the_default_window_is_ten_steps() -> None:
    assert len(await remembered(30)) == 12


async def test_summarizes_older_steps_in_one_line_each() -> None:
    lines = await remembered(6, window_size=2, summarize_after=3)
    assert lines[1:5] == [f"Step {n}: action act{n}, reward {n / 2:g}" for n in (1, 2, 3, 4)]
    assert "observation" not in "".join(lines[1:5])


async def test_does_not_summarize_before_so_many_steps_were_taken() -> None:
    assert (await remembered(3, window_size=2, summarize_after=3))[0] == "(Step 1 is not shown.)"


async def test_the_summary_keeps_to_its_budget() -> None:
    lines = await remembered(40, window_size=1, summarize_after=1, summary_characters=100)
    assert lines[0] == "(Steps 1 to 36 are not shown.)"
    assert sum(map(len, lines[2:-1])) <= 100


async def test_long_observations_are_cut() -> None:
    memory = Memory(MemoryParams())
    text = memory.sections(Observation({"a": "x" * 500}), 1, "")["Recent History"]
    assert len(text) == len("Start: observation ") + 120 + 1
    assert text.endswith("…")


async def test_lines_of_an_observation_become_one() -> None:
    memory = Memory(MemoryParams())
    assert memory.sections(Observation("a\nb\n"), 1, "")["Recent History"] == "Start: observation a b"


async def test_each_role_remembers_its_own_steps() -> None:
    memory = Memory(MemoryParams())
    memory.sections(Observation("for a"), 1, "a")
    await memory.after_step("x", Step(Observation("seen")), 1, "a")
    assert memory.sections(Observation("for b"), 2, "b")["Recent History"] == "Start: observation for b"
    assert "Step 1" in memory.sections(Observation(""), 3, "a")["Recent History"]


async def test_the_section_stands_in_the_prompt_of_every_step() -> None:
    vow = {"techniques": [{"technique_id": "memory", "config_schema": {"window_size": 1}}]}
    context = MemoryContext(ScriptedEnvironment(*"abcd"), list("xyz"), vow=vow)
    await open_loop({}).play(context)
    last = context.requests[2].messages[0].text
    assert "## Recent History\n(Step 1 is not shown.)\nStart: observation a\nStep 2: action y" in last
