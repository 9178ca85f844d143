"""Technique `multi_agent`: several roles in one episode, each with its own conversation and prompt."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from mesocosm.agents.technique import Params, Technique
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelReply
from mesocosm.core.ports import Context, Observation

HEADING = "Active Role"
KEY = "active_role"


class MultiAgentParams(Params):
    """Parameters of `multi_agent`.

    `roles` maps names to the environment's prompt for each role; a list of names, or of objects with `name` and
    `description` or `system_prompt`, is also accepted. `turn_order` applies if the environment does not name the acting
    role (default: the roles as written). `prompts` are the operator's prompts for roles; they replace those of the vow.
    """

    roles: dict[str, str] = Field(default_factory=dict)
    turn_order: list[str] = Field(default_factory=list)
    prompts: dict[str, str] = Field(default_factory=dict)

    @field_validator("roles", mode="before")
    @classmethod
    def _read_roles(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            return {str(name): _prompt_of(given[name]) for name in given}
        if isinstance(given, list):
            pairs = [
                (item.get("name", item.get("id")), item) if isinstance(item, Mapping) else (item, "") for item in given
            ]
            return {str(name): _prompt_of(definition) for name, definition in pairs if name is not None}
        return given


def _prompt_of(definition: Any) -> Any:
    if not isinstance(definition, Mapping):
        return definition or ""
    parts = (definition.get(key) for key in ("description", "system_prompt", "prompt"))
    return "\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


class MultiAgent(Technique):
    """Determines the acting role: `active_role` of the last info, else of the observation, else the next in turn.

    An undeclared name is replaced by the first role, with a warning. Without declared roles every name is valid.
    """

    id = "multi_agent"
    parameters = MultiAgentParams
    params: MultiAgentParams

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._roles = tuple(dict.fromkeys([*self.params.turn_order, *self.params.roles, *self.params.prompts]))
        self._order = tuple(self.params.turn_order) or self._roles
        self._turn = 0
        self._tokens: dict[str, int] = dict.fromkeys(self._roles, 0)
        self._unknown: list[str] = []
        self._context: Context | None = None

    async def on_start(self, context: Context) -> None:
        """Keep the context, to warn of unknown roles."""
        self._context = context

    def role(self, observation: Observation, info: Mapping[str, Any]) -> str:
        """Return the acting role; call this once per step."""
        turn, self._turn = self._turn, self._turn + 1
        data = observation.data
        for named in (info.get(KEY), data.get(KEY) if isinstance(data, Mapping) else None):
            if isinstance(named, str) and named:
                return self._known(named)
        return self._order[turn % len(self._order)] if self._order else ""

    def role_prompt(self, role: str) -> str:
        """Return the operator's prompt for this role, otherwise the vow's."""
        return self.params.prompts.get(role) or self.params.roles.get(role, "")

    def sections(self, observation: Observation, step: int, role: str) -> Mapping[str, str]:
        """Return the section `Active Role`."""
        del observation, step
        if not role:
            return {}
        others = [name for name in self._roles if name != role]
        beside = f" The other{'s are' if len(others) > 1 else ' is'} {', '.join(others)}." if others else ""
        return {HEADING: f"You act as {role}.{beside}"}

    async def after_reply(self, reply: ModelReply, role: str) -> None:
        """Count the tokens of each role."""
        self._tokens[role] = self._tokens.get(role, 0) + reply.usage.total

    async def on_end(self, context: Context) -> None:
        """Record the tokens that each role used."""
        context.record(Kind.TECHNIQUE, {"kind": "tokens_per_role", "tokens_per_role": dict(self._tokens)})

    def _known(self, named: str) -> str:
        if not self._roles or named in self._roles:
            return named
        if named not in self._unknown and self._context is not None:
            self._unknown.append(named)
            self._context.warn(f"{named!r} is not a declared role; {self._roles[0]!r} acts instead")
        return self._roles[0]
