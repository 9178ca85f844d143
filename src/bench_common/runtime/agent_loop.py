"""The step loop. It takes mesocosm.agents.options.LoopOptions and runs on a core.ports.Context."""

from mesocosm.agents.loop import StepLoop as AgentLoop

__all__ = ["AgentLoop"]
