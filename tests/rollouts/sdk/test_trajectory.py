import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mesocosm.rollouts.sdk.context import ARTIFACT_ROOT_ENV
from mesocosm.rollouts.sdk.delivery import CallbackReply
from mesocosm.rollouts.sdk.request import ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.trajectory import (
    LlmCallMetrics,
    SampleReport,
    TrajectoryReport,
    convert_sample_to_trajectory,
    report_from_response,
    save_trajectory,
    steps_of,
)

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "be good"},
    {"role": "user", "content": "2+2?"},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}},
            {"id": "c2", "type": "function", "function": {"name": "add", "arguments": "no json"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "4"},
    {"role": "tool", "tool_call_id": "c9", "content": "x"},
    {"role": "assistant", "content": "4"},
]


def dumped(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [step.model_dump(exclude_none=True) for step in steps_of(messages)]


def sample(**fields: Any) -> RolloutSample:
    return RolloutSample(**{"messages": CHAT, "label": "4", "reward": 1.0, **fields})


def test_a_chat_becomes_steps_with_tools_answers_folded_in() -> None:
    assert dumped(CHAT) == [
        {"step_id": 1, "source": "system", "message": "be good"},
        {"step_id": 2, "source": "user", "message": "2+2?"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "",
            "reasoning_content": "hm",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "add", "arguments": {"a": 2}},
                {"tool_call_id": "c2", "function_name": "add", "arguments": {"_raw": "no json"}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "4"},
                    {"content": "x", "extra": {"tool_call_id": "c9"}},
                ]
            },
        },
        {"step_id": 4, "source": "agent", "message": "4"},
    ]


def test_a_role_that_is_unknown_is_the_users_and_kept() -> None:
    assert dumped([{"role": "alien", "content": "hi"}]) == [
        {"step_id": 1, "source": "user", "message": "hi", "extra": {"original_role": "alien"}}
    ]


def test_what_a_tool_says_before_any_agent_is_a_step_of_its_own() -> None:
    assert dumped([{"role": "tool", "content": "4"}])[0]["extra"] == {"original_role": "tool"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "image_url", "image_url": {"url": "u"}}], '[{"type": "image_url", "image_url": {"url": "u"}}]'),
        (None, ""),
    ],
)
def test_content_in_parts_becomes_text(content: object, text: str) -> None:
    assert steps_of([{"role": "user", "content": content}])[0].message == text


def test_calls_are_attached_when_there_are_as_many_as_steps_of_the_agent() -> None:
    calls = [LlmCallMetrics(prompt_tokens=5, model_name="gpt"), LlmCallMetrics(prompt_tokens=7, cost_usd=0.5)]
    made = convert_sample_to_trajectory(sample(), rollout_id="r", report=SampleReport(llm_call_metrics=calls))
    acted = [step for step in made.steps if step.source == "agent"]
    assert [step.metrics and step.metrics.prompt_tokens for step in acted] == [5, 7]
    assert [step.model_name for step in acted] == ["gpt", None]
    assert made.final_metrics is not None
    assert made.final_metrics.model_dump(exclude_none=True) == {
        "total_prompt_tokens": 12,
        "total_cost_usd": 0.5,
        "total_steps": 4,
    }


def test_calls_are_not_attached_when_their_number_differs() -> None:
    report = SampleReport(llm_call_metrics=[LlmCallMetrics(prompt_tokens=5)])
    made = convert_sample_to_trajectory(sample(), rollout_id="r", report=report)
    assert all(step.metrics is None for step in made.steps)


def test_totals_of_the_controller_win_over_sums() -> None:
    totals = {"total_prompt_tokens": 12, "ours": 1}
    report = SampleReport(llm_call_metrics=[LlmCallMetrics(prompt_tokens=5)], final_metrics=totals)
    made = convert_sample_to_trajectory(sample(), rollout_id="r", report=report).final_metrics
    assert made is not None
    assert made.model_dump(exclude_none=True) == {
        "total_prompt_tokens": 12,
        "total_steps": 4,
        "extra": {"ours": 1},
    }


def test_a_trajectory_tells_what_the_grader_made_of_it() -> None:
    made = convert_sample_to_trajectory(
        sample(metrics={"turns": 2}),
        rollout_id="r",
        request_metadata={"m": 1},
        request_extra_fields={"row": 3},
        default_model_name="m1",
    )
    assert made.agent.model_name == "m1"
    assert made.extra == {
        "osmosis": {
            "rollout_id": "r",
            "label": "4",
            "reward": 1.0,
            "sample_metrics": {"turns": 2},
            "request_metadata": {"m": 1},
            "request_extra_fields": {"row": 3},
        }
    }


def test_an_empty_conversation_has_no_trajectory() -> None:
    with pytest.raises(ValidationError, match="steps"):
        convert_sample_to_trajectory(RolloutSample(), rollout_id="r")


def reply(body: object) -> CallbackReply:
    return CallbackReply(200, {}, json.dumps(body).encode())


def test_a_report_is_read_from_a_reply() -> None:
    read = report_from_response(reply({"trajectory": {"samples": {"x": {"model_name": "m"}}}}))
    assert read == TrajectoryReport(samples={"x": SampleReport(model_name="m")})


@pytest.mark.parametrize("body", [{}, [], {"trajectory": None}, {"trajectory": 3}, {"trajectory": {"samples": 1}}])
def test_a_reply_without_a_report_is_none(body: object) -> None:
    assert report_from_response(reply(body)) is None


def test_a_reply_that_is_no_json_has_no_report() -> None:
    assert report_from_response(CallbackReply(200, {}, b"<html>")) is None


async def test_a_trajectory_is_saved_under_the_root_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ARTIFACT_ROOT_ENV, str(tmp_path))
    report = TrajectoryReport(samples={"other": SampleReport(), "r1": SampleReport(model_name="mine")})
    result = ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample(), extra_fields={"queued_s": 1})
    await save_trajectory(rollout_id="r1", result=result, report=report)
    kept = json.loads((tmp_path / "r1" / "trajectory.json").read_text())
    assert (kept["schema_version"], kept["trajectory_id"], len(kept["steps"])) == ("ATIF-v1.7", "r1", 4)
    assert kept["agent"]["model_name"] == "mine"
    assert list(kept["extra"]["osmosis"]["unmatched_sample_reports"]) == ["other"]
    assert [file.name for file in (tmp_path / "r1").iterdir()] == ["trajectory.json"]


async def test_a_failure_leaves_its_diagnostics(tmp_path: Path) -> None:
    result = ExecutionResult(status=RolloutStatus.FAILURE, err_message="x", extra_fields={"cause": "workflow_failed"})
    await save_trajectory(rollout_id="r1", result=result, artifact_root=tmp_path)
    assert json.loads((tmp_path / "r1" / "diagnostics.json").read_text()) == {"cause": "workflow_failed"}
    assert not (tmp_path / "r1" / "trajectory.json").exists()


async def test_a_sample_that_wants_no_trajectory_leaves_none(tmp_path: Path) -> None:
    result = ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample(trajectory_messages=None))
    await save_trajectory(rollout_id="r1", result=result, artifact_root=tmp_path)
    assert not (tmp_path / "r1").exists()


async def test_numbers_that_are_not_finite_are_null(tmp_path: Path) -> None:
    result = ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample(metrics={"x": float("nan")}))
    await save_trajectory(rollout_id="r1", result=result, artifact_root=tmp_path)
    kept = json.loads((tmp_path / "r1" / "trajectory.json").read_text())
    assert kept["extra"]["osmosis"]["sample_metrics"] == {"x": None}


async def test_an_id_that_leads_elsewhere_writes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample())
    await save_trajectory(rollout_id="../x", result=result, artifact_root=tmp_path / "root")
    assert not (tmp_path / "x").exists()
    assert "could not be written" in caplog.text


async def test_a_root_that_cannot_be_written_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "root").write_text("a file")
    result = ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample())
    await save_trajectory(rollout_id="r1", result=result, artifact_root=tmp_path / "root")
    assert "could not be written" in caplog.text
