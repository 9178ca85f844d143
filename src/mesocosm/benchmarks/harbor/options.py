"""Options of a benchmark of task folders: `-P NAME=VALUE`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mesocosm.benchmarks.harbor.bash_agent import TURNS
from mesocosm.benchmarks.harbor.cheats import CONTAINER_CHEATS
from mesocosm.core.failure import UsageError
from mesocosm.sandboxes.containers.engines import ENGINES

ORACLE, NOP, BASH, CHEAT = "oracle", "nop", "bash", "cheat:"


class HarborOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`agent` is oracle, nop, bash, or a command that is installed in the containers.

    `engine` starts the containers. `turns` limits the agent bash. `reward` names the reward that ranks. `agent_env`
    gives the agent further variables, whose values may be `${NAME}`.
    """

    agent: str = BASH
    engine: str = "auto"
    turns: int = TURNS
    reward: str = ""
    agent_env: dict[str, str] = {}

    @property
    def command(self) -> str:
        """The command line of the agent in the container, empty for the agents of ours."""
        ours = self.agent in {ORACLE, NOP, BASH} or self.agent.startswith(CHEAT)
        return "" if ours else self.agent

    @property
    def asks_model(self) -> bool:
        """Whether the agent may call the model of the run."""
        return self.agent == BASH or bool(self.command)


def read_options(given: Mapping[str, Any]) -> HarborOptions:
    """Return the options. Raises UsageError with what there is."""
    try:
        options = msgspec.convert(dict(given), HarborOptions, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(HarborOptions.__struct_fields__)
        raise UsageError(f"options of harbor: {error}; there are {known}") from error
    if options.engine not in {"auto", *ENGINES}:
        raise UsageError(f"engine = {options.engine!r}: there is no such engine; choose auto, {', '.join(ENGINES)}")
    if not options.agent.strip():
        raise UsageError("agent is empty; choose oracle, nop, bash, or a command that is installed in the containers")
    cheat = options.agent.removeprefix(CHEAT)
    if options.agent.startswith(CHEAT) and cheat not in CONTAINER_CHEATS:
        raise UsageError(f"there is no cheat {cheat!r}; there are {', '.join(CONTAINER_CHEATS)}")
    if options.turns < 1:
        raise UsageError(f"turns = {options.turns}: the agent needs at least one")
    return options
