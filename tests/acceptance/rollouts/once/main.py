"""Asks the model once, by the plainest of clients."""

from mesocosm.rollouts import AgentWorkflow, AgentWorkflowContext, LocalBackend
from mesocosm.rollouts.sdk.completion import complete


class Once(AgentWorkflow):
    async def run(self, ctx: AgentWorkflowContext) -> list[dict]:
        return [*ctx.prompt, await complete(list(ctx.prompt))]


backend = LocalBackend(workflow=Once)
