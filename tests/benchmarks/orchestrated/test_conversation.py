"""The native worker: threads of both planes, delegation, and how an episode ends."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.orchestrated.capability import Evidence
from mesocosm.benchmarks.orchestrated.conversation import MOST_CALLS, PATIENCE, RESERVE, CellEnvironment
from mesocosm.benchmarks.orchestrated.tool import Arguments, ToolError, WorkTool, tool
from mesocosm.core.model import Tool
from mesocosm.core.ports import Step
from mesocosm.core.turn import Answer, CalledTool, Turn, read_turn

FINISH = tool("finish", "End.", {"answer": "the answer"})
EVIDENCE = Evidence(("code.read", "code.shell"), ("code.read",))


async def _doubled(arguments: Arguments) -> str:
    if arguments["word"] == "bad":
        raise ToolError("not this word")
    return str(arguments["word"]) * 2


class Doubling:
    """A job for tests: double a word."""

    prompt = "Double the word ho."
    briefing = directions = "Use the tool."
    folder = Path()
    finish: Tool = FINISH
    script: Sequence[CalledTool] = (CalledTool("double", {"word": "ho"}),)
    solution = "hoho"

    def __init__(self) -> None:
        self.tools: Mapping[str, WorkTool] = {
            "double": WorkTool(tool("double", "Double a word.", {"word": "the word"}), "code.read", _doubled)
        }
        self.opened = self.closed = False

    async def open(self) -> None:
        self.opened = True

    def answer_in(self, text: str) -> str | None:
        return text.removeprefix("END ") if text.startswith("END ") else None

    async def result(self, answer: str | None) -> dict[str, Any]:
        return {"answer": answer}

    async def close(self) -> None:
        self.closed = True


def world(*, orchestrated: bool, max_steps: int = 20) -> CellEnvironment:
    return CellEnvironment(Doubling(), EVIDENCE, orchestrated=orchestrated, max_steps=max_steps)


def calls(*made: tuple[str, Any]) -> dict[str, Any]:
    return Answer("", tuple(CalledTool(name, given, f"c{n}") for n, (name, given) in enumerate(made))).data()


def turn(step: Step) -> Turn:
    return read_turn(step.observation.data)


def texts(step: Step) -> list[str]:
    return [message.text for message in turn(step).messages]


async def test_alone_the_worker_has_the_task_the_tools_and_the_end() -> None:
    talk = world(orchestrated=False)
    first = read_turn((await talk.reset()).data)
    assert [message.text for message in first.messages] == ["Double the word ho."]
    assert [own.name for own in first.tools or ()] == ["double", "finish"]
    step = await talk.step(calls(("double", {"word": "ho"})))
    assert texts(step) == ["hoho"]
    assert turn(step).messages[0].tool_call_id == "c0"
    last = await talk.step(calls(("finish", {"answer": "hoho"})))
    assert last.terminated
    assert last.info["answer"] == "hoho"
    assert last.info["capabilities"]["observed"] == ["code.read"]
    assert last.info["delegations"] == 0


async def test_the_control_plane_can_only_delegate_and_gets_reports_back() -> None:
    talk = world(orchestrated=True)
    first = read_turn((await talk.reset()).data)
    assert first.thread == "orchestrator"
    assert [own.name for own in first.tools or ()] == ["delegate", "finish"]
    worker = turn(await talk.step(calls(("delegate", {"instructions": "Double ho and tell me."}))))
    assert worker.thread == "worker-1"
    assert [message.text for message in worker.messages] == ["Double ho and tell me."]
    assert [own.name for own in worker.tools or ()] == ["double"]
    assert texts(await talk.step(calls(("double", {"word": "ho"})))) == ["hoho"]
    back = await talk.step({"text": "It is hoho.", "tool_calls": []})
    assert turn(back).thread == "orchestrator"
    assert texts(back) == ["Report of worker-1:\nIt is hoho."]
    assert turn(back).messages[0].tool_call_id == "c0"
    last = await talk.step(calls(("finish", {"answer": "hoho"})))
    assert (last.info["delegations"], last.info["delegations_successful"]) == (1, 1)


async def test_the_control_plane_cannot_work_and_a_worker_cannot_finish() -> None:
    talk = world(orchestrated=True)
    await talk.reset()
    step = await talk.step(calls(("double", {"word": "ho"})))
    assert texts(step) == ["Error: there is no tool 'double'; there are delegate, finish."]
    await talk.step(calls(("delegate", {"instructions": "go"})))
    step = await talk.step(calls(("finish", {"answer": "hoho"})))
    assert texts(step) == ["Error: there is no tool 'finish'; there are double."]
    assert turn(step).thread == "worker-1"


async def test_several_delegations_of_one_answer_follow_each_other_and_report_together() -> None:
    talk = world(orchestrated=True)
    await talk.reset()
    made = calls(("delegate", {"instructions": "a"}), ("finish", {"answer": "x"}), ("delegate", {"instructions": "b"}))
    assert turn(await talk.step(made)).thread == "worker-1"
    second = await talk.step({"text": "A", "tool_calls": []})
    assert turn(second).thread == "worker-2"
    back = await talk.step({"text": "B", "tool_calls": []})
    assert turn(back).thread == "orchestrator"
    assert texts(back) == [
        "Error: finish must be called alone, after the reports of all workers.",
        "Report of worker-1:\nA",
        "Report of worker-2:\nB",
    ]
    assert [message.tool_call_id for message in turn(back).messages] == ["c1", "c0", "c2"]


async def test_a_silent_worker_is_a_delegation_that_failed() -> None:
    talk = world(orchestrated=True)
    await talk.reset()
    await talk.step(calls(("delegate", {"instructions": "a"})))
    for _ in range(PATIENCE):
        step = await talk.step({"text": " ", "tool_calls": []})
    assert texts(step) == ["worker-1 ended without a report."]
    last = await talk.step("END nothing")
    assert last.info["answer"] == "nothing"
    assert (last.info["delegations"], last.info["delegations_successful"]) == (1, 0)


async def test_a_worker_leaves_the_last_steps_to_the_control_plane() -> None:
    talk = world(orchestrated=True, max_steps=6)
    await talk.reset()
    await talk.step(calls(("delegate", {"instructions": "a"}), ("delegate", {"instructions": "b"})))
    for _ in range(3):
        step = await talk.step(calls(("double", {"word": "ho"})))
    assert turn(step).thread == "orchestrator"
    assert texts(step) == [
        "worker-1 did not report before its steps were used up.",
        "Error: there are no steps left for another worker.",
    ]


@pytest.mark.parametrize(
    ("said", "report"),
    [(["", "hoho"], "Report of worker-1:\nhoho"), ([""] * PATIENCE, "worker-1 ended without a report.")],
)
async def test_a_worker_whose_report_comes_at_the_last_moment_is_heard(said: list[str], report: str) -> None:
    talk = world(orchestrated=True, max_steps=1 + len(said) + RESERVE)
    await talk.reset()
    await talk.step(calls(("delegate", {"instructions": "a"}), ("delegate", {"instructions": "b"})))
    for text in said:
        step = await talk.step({"text": text, "tool_calls": []})
    assert turn(step).thread == "orchestrator"
    assert texts(step) == [report, "Error: there are no steps left for another worker."]
    last = await talk.step(calls(("finish", {"answer": "hoho"})))
    assert last.info["answer"] == "hoho"


async def test_at_the_step_limit_the_work_so_far_is_kept() -> None:
    talk = world(orchestrated=False, max_steps=2)
    await talk.reset()
    await talk.step(calls(("double", {"word": "ho"})))
    last = await talk.step(calls(("double", {"word": "ho"})))
    assert last.truncated
    assert not last.terminated
    assert last.info["answer"] is None
    assert last.info["tool_calls"] == {"double": 2}


async def test_words_that_lead_nowhere_end_the_episode() -> None:
    talk = world(orchestrated=False)
    await talk.reset()
    for _ in range(PATIENCE):
        step = await talk.step("let me think")
    assert step.terminated
    assert step.info["answer"] is None


async def test_wrong_calls_are_told_and_show_no_capability() -> None:
    talk = world(orchestrated=False)
    await talk.reset()
    wrong: list[tuple[str, Any]] = [("nothing", {}), ("double", "ho"), ("double", {}), ("double", {"word": 3})]
    wrong += [("double", {"word": "ho", "more": "x"}), ("double", {"word": "bad"}), ("finish", {})]
    step = await talk.step(calls(*wrong))
    assert len(texts(step)) == len(wrong)
    assert all(text.startswith("Error: ") for text in texts(step))
    last = await talk.step("END x")
    assert last.info["capabilities"]["observed"] == []
    assert last.info["tool_calls"] == {"unknown": 1, "double": 5}


async def test_of_many_calls_at_once_only_some_are_made() -> None:
    talk = world(orchestrated=False)
    await talk.reset()
    step = await talk.step(calls(*[("double", {"word": "a"})] * (MOST_CALLS + 2)))
    assert texts(step).count("aa") == MOST_CALLS
    assert len(texts(step)) == MOST_CALLS + 2


async def test_the_best_actions_lead_to_the_answer_in_both_modes() -> None:
    for orchestrated in (False, True):
        talk = world(orchestrated=orchestrated)
        await talk.reset()
        step = await talk.step(await talk.oracle())
        while not step.terminated:
            step = await talk.step(await talk.oracle())
        assert step.info["answer"] == "hoho"
        assert step.info["capabilities"]["observed"] == ["code.read"]
        assert step.info["delegations"] == int(orchestrated)
