"""What tests of executions need: workflows and graders made of functions, and requests."""

from collections.abc import Awaitable, Callable
from typing import Any

from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext, SampleSource
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, Grader

ANSWER = [{"role": "assistant", "content": "4"}]
PROMPT = [{"role": "user", "content": "2 + 2"}]

Run = Callable[[Any], Awaitable[Any]]
Make = Callable[..., LocalBackend]


def playing(run: Run) -> type[AgentWorkflow[Any]]:
    class Playing(AgentWorkflow[AgentWorkflowConfig]):
        async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]) -> Any:
            return await run(ctx)

    return Playing


def grading(grade: Run) -> type[Grader]:
    class Grading(Grader):
        async def grade(self, ctx: GraderContext) -> Any:
            return await grade(ctx)

    return Grading


async def answer(ctx: AgentWorkflowContext[Any]) -> Any:
    del ctx
    return ANSWER


async def praise(ctx: GraderContext) -> Any:
    ctx.set_reward(1.0)


class Source(SampleSource):
    def __init__(self, sample: Any) -> None:
        self.sample = sample

    async def get_sample(self) -> RolloutSample:
        return self.sample  # type: ignore[no-any-return]


def request(name: str = "r1", **more: Any) -> ExecutionRequest:
    return ExecutionRequest.model_validate({"id": name, "prompt": PROMPT, "label": "4", **more})


async def executed(backend: LocalBackend, asked: ExecutionRequest) -> tuple[ExecutionResult, ExecutionResult]:
    results: list[ExecutionResult] = []

    async def take(result: ExecutionResult) -> None:
        results.append(result)

    await backend.execute(asked, take, take)
    worked, graded = results
    return worked, graded


async def worked(backend: LocalBackend, **more: Any) -> ExecutionResult:
    return (await executed(backend, request(**more)))[0]


def cause(result: ExecutionResult) -> Any:
    return (result.extra_fields or {}).get("cause")
