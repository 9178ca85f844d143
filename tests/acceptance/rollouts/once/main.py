"""Asks the model once, by the plainest of clients."""

from typing import Any

from mesocosm.rollouts import AgentWorkflow, AgentWorkflowContext, LocalBackend
from mesocosm.rollouts.sdk.completion import complete


class Once(AgentWorkflow[Any]):
    async def run(self, ctx: AgentWorkflowContext[Any]) -> list[dict[str, Any]]:
        return [*ctx.prompt, await complete(list(ctx.prompt))]


backend = LocalBackend(workflow=Once)
