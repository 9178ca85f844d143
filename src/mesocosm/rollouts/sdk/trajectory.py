"""Write one rollout to a file, in the Agent Trajectory Interchange Format (ATIF) 1.7.

`<root>/<rollout id>/trajectory.json` contains the steps, the controller's report about the model's calls, and the
grade; `diagnostics.json` beside it describes a failure. Write errors are logged and never fail a rollout.
"""

import asyncio
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mesocosm.rollouts.sdk.context import artifact_root as default_root
from mesocosm.rollouts.sdk.request import ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import RolloutStatus

SCHEMA = "ATIF-v1.7"
AGENT = "osmosis-rollout-sdk"

_LOG = logging.getLogger(__name__)
_SOURCES: Mapping[str, Literal["system", "user", "agent"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "agent",
}


class StepMetrics(BaseModel):
    """The cost of one model call: tokens, US dollars, and for training the token ids and log probabilities."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class LlmCallMetrics(StepMetrics):
    """The cost of a call, with the name of the model."""

    model_name: str | None = None


class SampleReport(BaseModel):
    """The calls behind one sample, in order, and their totals if the controller has summed them."""

    model_name: str | None = None
    llm_call_metrics: list[LlmCallMetrics] = Field(default_factory=list)
    final_metrics: dict[str, Any] | None = None


class TrajectoryReport(BaseModel):
    """The controller's report about the model calls of a rollout; it is sent in the reply to a callback."""

    model_name: str | None = None
    samples: dict[str, SampleReport] = Field(default_factory=dict)

    def sample(self, rollout_id: str) -> tuple[str, SampleReport] | None:
        """Return the report of the rollout's sample with its key, or None if there is no report."""
        if rollout_id in self.samples:
            return rollout_id, self.samples[rollout_id]
        return next(iter(self.samples.items()), None)


class TrajectoryToolCall(BaseModel):
    """A tool call; arguments that are not a JSON object are stored under `_raw`."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ToolObservation(BaseModel):
    """The result of a tool; `source_call_id` is None if the call is not in the same step."""

    source_call_id: str | None = None
    content: str | None = None
    extra: dict[str, Any] | None = None


class TrajectoryObservation(BaseModel):
    """The results of all tools called in a step."""

    results: list[ToolObservation] = Field(default_factory=list)


class TrajectoryStep(BaseModel):
    """A message and the tool results that follow it; steps are numbered from 1."""

    step_id: int
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str
    reasoning_content: str | None = None
    tool_calls: list[TrajectoryToolCall] | None = None
    observation: TrajectoryObservation | None = None
    metrics: StepMetrics | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None


class TrajectoryAgent(BaseModel):
    """The agent that acted."""

    name: str = AGENT
    version: str
    model_name: str | None = None


class FinalMetrics(BaseModel):
    """Totals of the whole trajectory."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class Trajectory(BaseModel):
    """One rollout as ATIF 1.7. It has at least one step."""

    model_config: ClassVar[ConfigDict] = ConfigDict(ser_json_inf_nan="null")

    schema_version: str = SCHEMA
    session_id: str
    trajectory_id: str
    agent: TrajectoryAgent
    steps: list[TrajectoryStep] = Field(min_length=1)
    final_metrics: FinalMetrics | None = None
    extra: dict[str, Any] | None = None


class HttpReply(Protocol):
    """An HTTP reply that can be decoded."""

    def json(self) -> Any:
        """Return the decoded body."""
        ...


def report_from_response(response: HttpReply) -> TrajectoryReport | None:
    """Return the `trajectory` of a callback's reply; None if it is missing or malformed (which is logged)."""
    try:
        body = response.json()
    except ValueError:
        return None
    payload = body.get("trajectory") if isinstance(body, Mapping) else None
    if payload is None:
        return None
    try:
        return TrajectoryReport.model_validate(payload)
    except ValidationError as error:
        _LOG.warning("the trajectory in a callback's reply is malformed and left out: %s", error)
        return None


def text_of(content: object) -> str:
    """Return a message's content as text: text parts joined, anything else as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and content and all(_is_text(part) for part in content):
        return "".join(part["text"] for part in content)
    return json.dumps(content, ensure_ascii=False, default=str)


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("text"), str) and set(part) <= {"type", "text"}


def _arguments(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return {"_raw": given}
    return dict(given) if isinstance(given, Mapping) else {"_raw": given}


def _calls(message: Mapping[str, Any]) -> list[TrajectoryToolCall] | None:
    calls = []
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            identity = str(call.get("id") or f"call_{index}")
            name = str(function.get("name") or "")
            calls.append(
                TrajectoryToolCall(
                    tool_call_id=identity, function_name=name, arguments=_arguments(function.get("arguments"))
                )
            )
    return calls or None


def _observe(step: TrajectoryStep, message: Mapping[str, Any]) -> None:
    call = message.get("tool_call_id")
    content = text_of(message.get("content"))
    if call in {known.tool_call_id for known in step.tool_calls or ()}:
        result = ToolObservation(source_call_id=call, content=content)
    else:
        result = ToolObservation(content=content, extra={"tool_call_id": call})
    step.observation = step.observation or TrajectoryObservation()
    step.observation.results.append(result)


def _step(number: int, message: Mapping[str, Any]) -> TrajectoryStep:
    role = str(message.get("role") or "")
    reasoning = message.get("reasoning_content")
    step = TrajectoryStep(step_id=number, source=_SOURCES.get(role, "user"), message=text_of(message.get("content")))
    if role not in _SOURCES:
        step.extra = {"original_role": role}
    if step.source == "agent":
        step.reasoning_content = reasoning if isinstance(reasoning, str) else None
        step.tool_calls = _calls(message)
    stamp = message.get("timestamp")
    step.timestamp = stamp if isinstance(stamp, str) else None
    return step


def steps_of(messages: Iterable[Mapping[str, Any]]) -> list[TrajectoryStep]:
    """Return the steps of a conversation; the result of a tool belongs to the preceding step of the agent."""
    steps: list[TrajectoryStep] = []
    for message in messages:
        agent = next((step for step in reversed(steps) if step.source == "agent"), None)
        if message.get("role") == "tool" and agent is not None:
            _observe(agent, message)
        else:
            steps.append(_step(len(steps) + 1, message))
    return steps


def _attach(steps: Sequence[TrajectoryStep], report: SampleReport) -> None:
    """Attach each call to its agent step; if the counts differ, the calls cannot be matched and none is attached."""
    acted = [step for step in steps if step.source == "agent"]
    if len(acted) != len(report.llm_call_metrics):
        return
    for step, call in zip(acted, report.llm_call_metrics, strict=True):
        step.model_name = call.model_name
        step.metrics = StepMetrics.model_validate(call.model_dump(exclude={"model_name"}))
        step.llm_call_count = 1


def _totals(report: SampleReport | None, steps: int) -> FinalMetrics:
    if report is None:
        return FinalMetrics(total_steps=steps)
    if report.final_metrics is not None:
        known = {name: value for name, value in report.final_metrics.items() if name in FinalMetrics.model_fields}
        other = {name: value for name, value in report.final_metrics.items() if name not in known}
        try:
            totals = FinalMetrics.model_validate(known)
        except ValidationError:
            totals, other = FinalMetrics(), dict(report.final_metrics)
        totals.extra = {**(totals.extra or {}), **other} or None
        return totals.model_copy(update={"total_steps": steps})
    sums = {}
    for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"):
        values = [value for call in report.llm_call_metrics if (value := getattr(call, name)) is not None]
        sums[f"total_{name}"] = sum(values) if values else None
    return FinalMetrics(total_steps=steps, **sums)


def convert_sample_to_trajectory(
    sample: RolloutSample,
    *,
    rollout_id: str,
    request_label: str | None = None,
    request_metadata: dict[str, Any] | None = None,
    request_extra_fields: dict[str, Any] | None = None,
    report: SampleReport | None = None,
    default_model_name: str | None = None,
    unmatched_sample_reports: Mapping[str, SampleReport] | None = None,
) -> Trajectory:
    """Return the trajectory of a sample with its reward. Raises pydantic.ValidationError for an empty conversation."""
    steps = steps_of(sample.trajectory_messages or ())
    if report is not None:
        _attach(steps, report)
    facts: dict[str, Any] = {
        "rollout_id": rollout_id,
        "label": sample.label if sample.label is not None else request_label,
        "reward": sample.reward,
        "remove_sample": sample.remove_sample or None,
        "sample_metrics": dict(sample.metrics),
        "sample_extra_fields": dict(sample.extra_fields),
        "request_metadata": request_metadata,
        "request_extra_fields": request_extra_fields,
        "unmatched_sample_reports": {
            key: value.model_dump(exclude_none=True) for key, value in (unmatched_sample_reports or {}).items()
        },
    }
    model = report.model_name if report is not None and report.model_name else default_model_name
    return Trajectory(
        session_id=rollout_id,
        trajectory_id=rollout_id,
        agent=TrajectoryAgent(version=_version(), model_name=model),
        steps=steps,
        final_metrics=_totals(report, len(steps)),
        extra={"osmosis": {name: value for name, value in facts.items() if value not in (None, {})}},
    )


def _version() -> str:
    from mesocosm import __version__

    return __version__


def _path(root: Path, rollout_id: str) -> Path:
    if not rollout_id or rollout_id in {".", ".."} or set(rollout_id) & {"/", "\\", "\0"}:
        raise ValueError(f"the rollout id {rollout_id!r} is not a single path segment")
    return root / rollout_id


def _write(path: Path, text: str) -> None:
    """Replace a file atomically, so that readers never see a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


async def save_trajectory(
    *,
    rollout_id: str,
    result: ExecutionResult,
    request_label: str | None = None,
    request_metadata: dict[str, Any] | None = None,
    request_extra_fields: dict[str, Any] | None = None,
    report: TrajectoryReport | None = None,
    artifact_root: Path | None = None,
    diagnostics: dict[str, Any] | None = None,
) -> None:
    """Write `trajectory.json`, and `diagnostics.json` for a failure. Errors are logged, never raised.

    A sample without messages, or whose `trajectory_messages` are None, has no trajectory.
    """
    if diagnostics is None and result.status is not RolloutStatus.SUCCESS:
        diagnostics = result.extra_fields
    matched = report.sample(rollout_id) if report is not None else None
    own, calls = matched or (None, None)
    try:
        folder = _path(artifact_root or default_root(), rollout_id)
        texts: dict[str, str] = {}
        if diagnostics:
            texts["diagnostics.json"] = json.dumps(diagnostics, indent=2, ensure_ascii=False, default=str)
        if result.sample is not None and result.sample.trajectory_messages:
            trajectory = convert_sample_to_trajectory(
                result.sample,
                rollout_id=rollout_id,
                request_label=request_label,
                request_metadata=request_metadata,
                request_extra_fields=request_extra_fields,
                report=calls,
                default_model_name=report.model_name if report else None,
                unmatched_sample_reports={
                    key: value for key, value in (report.samples if report else {}).items() if key != own
                },
            )
            texts["trajectory.json"] = trajectory.model_dump_json(indent=2, exclude_none=True, fallback=str)
        if texts:
            await asyncio.to_thread(_write_all, folder, texts)
    except Exception:  # noqa: BLE001 - a record that cannot be written must not fail the rollout
        _LOG.exception("the trajectory of rollout %s could not be written", rollout_id)


def _write_all(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        _write(folder / name, text)
