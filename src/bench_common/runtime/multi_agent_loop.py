"""The step loop with a separate model for each role."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench_common.core.run import AgentConfig
from mesocosm.agents.loop import StepLoop
from mesocosm.agents.multi_agent import MultiAgent, MultiAgentParams
from mesocosm.agents.options import read_options
from mesocosm.agents.role_state import RoleState
from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Context, Observation
from mesocosm.core.registry import TECHNIQUES

__all__ = ["MultiAgentLoop", "RoleState", "RoleTechnique", "_resolve_active_role", "open_loop"]

ROLE = "role"
"""The request setting with the role, from which bench_common.runtime.role_models selects the model."""


def open_loop(options: Mapping[str, Any]) -> "MultiAgentLoop":
    """Return the loop for the options in a run's spec: the arguments of MultiAgentLoop, with agents as JSON."""
    agents = {role: AgentConfig.model_validate(agent) for role, agent in options["agents"].items()}
    return MultiAgentLoop(agents, options.get("role_order"), options.get("window_size", 10), options.get("roles"))


class MultiAgentLoop:
    """Implements core.ports.Agent: each role acts with its own model, system prompt, and history.

    The environment selects the acting role (`active_role` in info or observation), else `role_order` does, by default
    the sorted names. `window_size` is the number of turns that a role remembers. `roles` are the environment's
    descriptions of the roles.
    """

    def __init__(
        self,
        agents: Mapping[str, AgentConfig],
        role_order: Sequence[str] | None = None,
        window_size: int = 10,
        roles: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = {role: _settings(role, agent) for role, agent in agents.items()}
        prompts = {role: agent.system_prompt for role, agent in agents.items() if agent.system_prompt}
        order = list(role_order or sorted(agents))
        if unknown := [role for role in order if role not in agents]:
            raise UsageError(f"role_order names {', '.join(unknown)}, for whom no agent is given")
        # Replace the vow's own multi_agent with `roles`, which also selects the model of the acting role.
        role_prompts = {role: (roles or {}).get(role, "") for role in agents}
        techniques: dict[str, Any] = {
            "multi_agent": False,
            "roles": {"turn_order": order, "prompts": prompts, "roles": role_prompts},
        }
        for agent in agents.values():
            techniques |= {technique.technique_id: technique.params for technique in agent.techniques}
        self._loop = StepLoop(read_options({"history": max(window_size, 1), "techniques": techniques}))

    async def play(self, context: Context) -> None:
        """Run one episode to its end. Raises EpisodeError with the cause."""
        await self._loop.play(_RoleContext(context, self._settings))


class _RoleContext:
    """The context of an episode, with the model settings of the acting role."""

    def __init__(self, context: Context, settings: Mapping[str, ModelSettings]) -> None:
        self.settings = context.settings
        self._context = context
        self._by_role = settings

    def acts(self, role: str) -> None:
        """Switch to the settings of a role."""
        self.settings = self._by_role[role]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


@TECHNIQUES.register("roles")
class RoleTechnique(MultiAgent):
    """The technique multi_agent; it also passes the acting role to the episode's context."""

    id = "roles"

    def __init__(self, params: MultiAgentParams) -> None:
        super().__init__(params)
        self._episode: _RoleContext | None = None

    async def on_start(self, context: Context) -> None:
        """Store the episode's context."""
        await super().on_start(context)
        self._episode = context if isinstance(context, _RoleContext) else None

    def role(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """Return the acting role; called once per step."""
        acting = super().role(observation, info)
        if self._episode is not None:
            self._episode.acts(acting)
        return acting


def _settings(role: str, agent: AgentConfig) -> ModelSettings:
    return ModelSettings(agent.model, agent.temperature, agent.max_tokens, extra={ROLE: role})


def _resolve_active_role(
    info: Mapping[str, Any] | None, observation: Any, role_order: Sequence[str], turn: int = 0
) -> str:
    """Return the acting role at `turn` (0, 1, …): `active_role` of the info or observation, else the next in order."""
    technique = MultiAgent(MultiAgentParams(turn_order=list(role_order)))
    for _ in range(turn % len(role_order) if role_order else 0):
        technique.role(Observation(), {})
    return technique.role(Observation(observation), info or {})
