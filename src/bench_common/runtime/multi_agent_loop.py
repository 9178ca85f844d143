"""The step loop where each role has a model of its own."""

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
"""The setting by which bench_common.runtime.role_models finds the model of a role."""


def open_loop(options: Mapping[str, Any]) -> "MultiAgentLoop":
    """Return the loop as runs name it; the options are the arguments of MultiAgentLoop, agents as JSON."""
    agents = {role: AgentConfig.model_validate(agent) for role, agent in options["agents"].items()}
    return MultiAgentLoop(agents, options.get("role_order"), options.get("window_size", 10), options.get("roles"))


class MultiAgentLoop:
    """Implements core.ports.Agent: a role acts with its own model, system prompt, and the last turns it saw.

    The environment says who acts (`active_role` in info or observation), else `role_order` does, by default the sorted
    names. `window_size` is how many turns a role remembers. `roles` are the environment's own words to each role.
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
        # The vow's own multi_agent gives way to `roles`, which also tells the episode whose model to ask.
        told = {role: (roles or {}).get(role, "") for role in agents}
        techniques: dict[str, Any] = {
            "multi_agent": False,
            "roles": {"turn_order": order, "prompts": prompts, "roles": told},
        }
        for agent in agents.values():
            techniques |= {technique.technique_id: technique.params for technique in agent.techniques}
        self._loop = StepLoop(read_options({"history": max(window_size, 1), "techniques": techniques}))

    async def play(self, context: Context) -> None:
        """Play one episode to its end. Raises EpisodeError with the cause."""
        await self._loop.play(_RoleContext(context, self._settings))


class _RoleContext:
    """The context of an episode, with the model settings of whoever acts."""

    def __init__(self, context: Context, settings: Mapping[str, ModelSettings]) -> None:
        self.settings = context.settings
        self._context = context
        self._by_role = settings

    def acts(self, role: str) -> None:
        """Take the settings of a role."""
        self.settings = self._by_role[role]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


@TECHNIQUES.register("roles")
class RoleTechnique(MultiAgent):
    """The technique multi_agent, which tells the episode who acts."""

    id = "roles"

    def __init__(self, params: MultiAgentParams) -> None:
        super().__init__(params)
        self._episode: _RoleContext | None = None

    async def on_start(self, context: Context) -> None:
        """Keep the episode."""
        await super().on_start(context)
        self._episode = context if isinstance(context, _RoleContext) else None

    def role(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """Return who acts now; called once for each step."""
        acting = super().role(observation, info)
        if self._episode is not None:
            self._episode.acts(acting)
        return acting


def _settings(role: str, agent: AgentConfig) -> ModelSettings:
    return ModelSettings(agent.model, agent.temperature, agent.max_tokens, extra={ROLE: role})


def _resolve_active_role(
    info: Mapping[str, Any] | None, observation: Any, role_order: Sequence[str], turn: int = 0
) -> str:
    """Return who acts at `turn` (0, 1, …): `active_role` of the info, of the observation, else the next in turn."""
    technique = MultiAgent(MultiAgentParams(turn_order=list(role_order)))
    for _ in range(turn % len(role_order) if role_order else 0):
        technique.role(Observation(), {})
    return technique.role(Observation(observation), info or {})
