"""Runs of every kind are written as ATIF trajectories whose steps keep the format's rules."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.core.score import Score
from mesocosm.interop.atif import trajectory
from mesocosm.interop.conversation import EpisodeConversation

JSON = dict[str, Any]

RUN = Run(
    "r", "s", "b", "B", "1", "d", "environment", "m/x", "loop", RunSpec(BenchmarkRef("rows", "b"), ModelSettings("m/x"))
)


class NoBlobs:
    """A store without content."""

    def get(self, digest: str) -> Any:
        """Find nothing."""
        raise UnknownName(digest)


def document(events: Sequence[tuple[Kind, JSON]], **fields: Any) -> JSON | None:
    """Return the trajectory of an episode with these events."""
    said = EpisodeConversation()
    lines = [msgspec.json.encode(Event(seq, 0, 1.0, kind, payload)) for seq, (kind, payload) in enumerate(events)]
    said.take(b"\n".join(lines), NoBlobs())
    episode = Episode("e", "r", "digest", "t1", trial=2, status=EpisodeStatus.COMPLETED, **fields)
    return trajectory(RUN, episode, said)


def call(first: int, last: int, text: str, **more: Any) -> tuple[Kind, JSON]:
    """Return a model call with the messages `first` to `last`."""
    usage = {"prompt": 5, "completion": 2, "calls": 1, "cost_usd": None}
    return Kind.MODEL_CALL, {"model": "x", "messages": [[first, last]], "text": text, "usage": usage, **more}


def said(index: int, role: str, content: str, **more: Any) -> tuple[Kind, JSON]:
    """Return a message event."""
    return Kind.MESSAGE, {"index": index, "role": role, "content": content, **more}


TOOL = {"id": "c1", "name": "add", "arguments": {"a": 1}}


def test_each_call_is_a_step_with_its_tools_and_tokens() -> None:
    found = document(
        [
            said(0, "user", "1 + 1?"),
            call(0, 0, "", tool_calls=[TOOL]),
            said(1, "assistant", "", tool_calls=[TOOL]),
            said(2, "tool", "2", tool_call_id="c1"),
            call(0, 2, "It is 2."),
        ],
        scores=(Score("reward", 1.0),),
    )
    assert found is not None
    steps = found["steps"]
    assert [(step["step_id"], step["source"]) for step in steps] == [(1, "user"), (2, "agent"), (3, "agent")]
    assert steps[1]["observation"]["results"] == [{"source_call_id": "c1", "content": "2"}]
    assert steps[1]["tool_calls"][0] == {"tool_call_id": "c1", "function_name": "add", "arguments": {"a": 1}}
    assert steps[2]["metrics"]["prompt_tokens"] == 5
    assert (
        found["extra"]["mesocosm"] | {"run": "r", "task": "t1", "trial": 2, "reward": 1.0} == found["extra"]["mesocosm"]
    )


def test_prompts_that_forget_are_all_there() -> None:
    found = document([said(0, "user", "board 1"), call(0, 0, "up"), said(1, "user", "board 2"), call(1, 1, "up")])
    assert found is not None
    assert [step["message"] for step in found["steps"]] == ["board 1", "up", "board 2", "up"]


def test_an_example_in_a_prompt_is_copied_context() -> None:
    found = document([said(0, "user", "q"), said(1, "assistant", "a"), said(2, "user", "now"), call(0, 2, "b")])
    assert found is not None
    example = found["steps"][1]
    assert (example["is_copied_context"], example["llm_call_count"], "metrics" in example) == (True, 0, False)


def test_actions_without_a_model_are_steps_without_a_call() -> None:
    found = document(
        [
            (Kind.OBSERVATION, {"data": "start"}),
            (Kind.ACTION, {"action": {"move": "up"}}),
            (Kind.STEP_RESULT, {"reward": 1.0, "terminated": True}),
            (Kind.OBSERVATION, {"data": "end"}),
        ]
    )
    assert found is not None
    first, second = found["steps"]
    assert (first["source"], first["message"]) == ("user", "start")
    assert (second["message"], second["llm_call_count"], "metrics" in second) == ('{"move": "up"}', 0, False)
    assert second["extra"] == {"reward": 1.0, "terminated": True}
    assert second["observation"]["results"] == [{"source_call_id": None, "content": "end"}]


@pytest.mark.parametrize("events", [[], [(Kind.EPISODE_START, {"task": "t1"})]])
def test_an_episode_without_a_step_has_no_trajectory(events: list[tuple[Kind, JSON]]) -> None:
    assert document(events) is None
