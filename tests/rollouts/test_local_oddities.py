"""The place within this process, where a rollout leaves what is hard to keep."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from mesocosm.rollouts.executor import ModelAccess, RowJob, RowOutcome
from mesocosm.rollouts.local import InProcessExecutor
from mesocosm.rollouts.output import RowOutput, capture, current_output
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, Grader

LEFT: dict[str, Any] = {}


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Player(AgentWorkflow[Any]):
    async def run(self, ctx: AgentWorkflowContext[Any]) -> Any:
        return [*ctx.prompt, {"role": "assistant", "content": LEFT["content"]}]


class Judge(Grader):
    async def grade(self, ctx: GraderContext) -> Any:
        assert ctx.sample is not None
        ctx.sample.metrics.update(LEFT.get("metrics", {}))
        ctx.sample.extra_fields.update(LEFT.get("extra", {}))
        ctx.set_reward(1.0)


async def left(tmp_path: Path, content: Any, **more: Any) -> RowOutcome:
    LEFT.clear()
    LEFT.update(content=content, **more)
    model = ModelAccess("http://model/v1", "key", "m")
    work = RowJob("try-1", [{"role": "user", "content": "?"}], "4", None, 0, 0, 1, model, None, tmp_path / "artifacts")
    place = InProcessExecutor.of(workflow=Player, grader=Judge)
    await place.open(lambda _: None)
    try:
        return await place.run(work, lambda *_: None)
    finally:
        await place.close()


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("half \ud800", "half \\ud800"),
        ({"half \ud800": 1}, {"half \\ud800": 1}),
        (Unspeakable(), "[Unspeakable, which cannot be shown: its __str__ raised RuntimeError]"),
    ],
)
async def test_messages_that_json_cannot_hold_are_kept_as_text(tmp_path: Path, content: Any, kept: Any) -> None:
    ended = await left(tmp_path, content)
    assert ended.sample is not None
    assert (ended.sample.reward, ended.sample.messages[-1]["content"]) == (1.0, kept)


async def test_a_metric_that_no_float_can_hold_does_not_cost_the_reward(tmp_path: Path) -> None:
    ended = await left(tmp_path, "fine", metrics={"huge": 10**400, "turns": 2})
    assert ended.sample is not None
    assert (ended.sample.reward, ended.sample.metrics) == (1.0, {"turns": 2.0})


async def test_extra_fields_that_hold_themselves_do_not_cost_the_reward(tmp_path: Path) -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    ended = await left(tmp_path, "fine", extra={"circle": circle, "note": "kept"})
    assert ended.sample is not None
    assert (ended.sample.reward, ended.sample.extra["note"]) == (1.0, "kept")


def test_bytes_that_a_rollout_writes_go_where_its_text_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), write_through=True)
    monkeypatch.setattr(sys, "stdout", out)
    heard: list[tuple[str, str]] = []
    capture.begin()
    try:
        token = current_output.set(RowOutput("row", lambda stream, line: heard.append((stream, line))))
        sys.stdout.buffer.write(b"its \xff bytes\n")
        current_output.reset(token)
        sys.stdout.buffer.write(b"our bytes\n")
    finally:
        capture.end()
    assert heard == [("stdout", "its \ufffd bytes")]
    assert out.buffer.getvalue() == b"our bytes\n"
