"""The step loop. It takes mesocosm.agents.options.LoopOptions and plays a core.ports.Context."""

from mesocosm.agents.loop import StepLoop as AgentLoop

__all__ = ["AgentLoop"]
