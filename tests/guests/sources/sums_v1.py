# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201
"""Sums, with a harness that starts no process: it asks once, in the process of the framework."""

import os
import signal

import httpx
import verifiers.v1 as vf
from verifiers.v1.runtimes import ProgramResult


class SumData(vf.TaskData):
    answer: str


class SumTaskConfig(vf.TaskConfig):
    raises: int = -1
    """The task whose grader raises."""
    nan: int = -1
    """The task whose reward is no number."""


class SumTask(vf.Task[SumData, vf.State, SumTaskConfig]):
    @property
    def key(self) -> str:
        return f"sum-{self.data.idx}"

    @vf.reward(weight=2.0)
    async def right(self, trace: vf.Trace) -> float:
        if self.data.idx == self.config.raises:
            raise ValueError("the answer key is lost")
        if self.data.idx == self.config.nan:
            return float("nan")
        return float(trace.last_reply == self.data.answer)

    @vf.reward(weight=-0.5)
    async def long(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply) > 2)

    @vf.metric
    async def length(self, trace: vf.Trace) -> float:
        return float(len(trace.last_reply))


class SumsConfig(vf.TasksetConfig):
    task: SumTaskConfig = SumTaskConfig()
    count: int = 8


class SumsTaskset(vf.Taskset[SumTask, SumsConfig]):
    def load(self):
        for place in range(self.config.count):
            data = SumData(prompt=f"1 + {place}?", system_prompt="Answer with a number.", answer=str(1 + place))
            yield SumTask(data, self.config.task)


class DirectConfig(vf.HarnessConfig):
    dies: int = -1
    """The task that kills the process of the framework."""


class DirectHarness(vf.Harness[DirectConfig]):
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data):
        if data.idx == self.config.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        system, prompt = self.resolve_prompt(data)
        body = {
            "model": ctx.model,
            "stream": True,
            "stop": ["\n\n"],
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt}],
        }
        async with httpx.AsyncClient(timeout=None, verify=False, trust_env=False) as client:
            headers = {"Authorization": f"Bearer {secret}"}
            said = await client.post(f"{endpoint}/chat/completions", json=body, headers=headers)
        return ProgramResult(0 if said.status_code == 200 else 1, "", said.text)


__all__ = ["DirectHarness", "SumsTaskset"]
