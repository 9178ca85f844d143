"""State shared by all episodes of a benchmark, built once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mesocosm.agents.instructions import Instructions, Path
from mesocosm.agents.options import LoopOptions
from mesocosm.agents.parsing import Parser
from mesocosm.agents.technique import Equipped, equip
from mesocosm.core.info import BenchmarkInfo, Malformed
from mesocosm.core.model import Capabilities
from mesocosm.core.ports import Context
from mesocosm.core.space import CompositeSpace, Space, SpaceType, action_schema

_STRUCTURED = frozenset((SpaceType.DISCRETE, SpaceType.CONTINUOUS, SpaceType.JSON))


@dataclass(slots=True)
class AgentContext:
    """Parser, schema, prompt and techniques for one benchmark and one model.

    `schema` is the JSON Schema of replies, None if replies are free text. `warnings` concern the vow and are repeated
    in every episode.
    """

    options: LoopOptions
    info: BenchmarkInfo
    action_space: Space | None
    observation_space: Space | None
    capabilities: Capabilities
    parser: Parser
    schema: Mapping[str, Any] | None
    techniques: tuple[Equipped, ...]
    warnings: tuple[str, ...]
    shows_images: bool
    _instructions: dict[Path, Instructions] = field(default_factory=dict)

    @property
    def on_malformed(self) -> Malformed:
        """How to handle a reply without a valid action: the operator's choice, otherwise the environment's."""
        chosen = self.options.on_malformed
        return self.info.malformed if chosen == "auto" else chosen

    def fits(self, context: Context) -> bool:
        """Return whether this object was built for the benchmark and model of `context`."""
        return (
            self.info is context.info
            and self.action_space is context.action_space
            and self.observation_space is context.observation_space
            and (self.capabilities is context.capabilities or self.capabilities == context.capabilities)
        )

    def instructions(self, path: Path) -> Instructions:
        """Return the system messages for one form of replies."""
        known = self._instructions.get(path)
        if known is None:
            known = self._instructions[path] = Instructions(
                self.info, self.action_space, self.observation_space, self.options.system_prompt, path
            )
        return known


def setting_of(context: Context, options: LoopOptions) -> AgentContext:
    """Return the AgentContext for the benchmark and model of `context`. Raise UsageError for invalid parameters."""
    warnings: list[str] = []
    space: Space | None = context.action_space
    return AgentContext(
        options,
        context.info,
        space,
        context.observation_space,
        context.capabilities,
        Parser(space),
        action_schema(space) if space is not None and _structured(space, options, context.capabilities) else None,
        equip(context.info.vow, _overrides(options), warnings.append, options.classes),
        tuple(warnings),
        options.images == "on" or (options.images == "auto" and context.capabilities.images),
    )


def _structured(space: Space, options: LoopOptions, capabilities: Capabilities) -> bool:
    if options.structured == "off" or not (options.structured == "on" or capabilities.structured):
        return False
    return isinstance(space, CompositeSpace) or space.type in _STRUCTURED


def _overrides(options: LoopOptions) -> dict[str, Mapping[str, Any] | None]:
    """Return the operator's parameters of techniques; role prompts become a parameter of multi_agent."""
    overrides = dict(options.techniques)
    if options.roles and overrides.get("multi-agent", {}) is not None:
        prompts = {role: settings.system_prompt for role, settings in options.roles.items()}
        overrides["multi-agent"] = {**(overrides.get("multi-agent") or {}), "prompts": prompts}
    return overrides
