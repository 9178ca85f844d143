"""Run several models in one environment, one for each role."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench_common.inference.result import BenchResult

if TYPE_CHECKING:
    from bench_common.core.run import AgentConfig
    from bench_common.env_sdk.registration import DomainConfig

__all__ = ["MultiBenchResult", "multi_bench"]


@dataclass
class MultiBenchResult(BenchResult):
    """A BenchResult with `agents`, the model of each role; `terminal_info` of episodes contains `tokens_per_role`."""

    agents: dict[str, str] = field(default_factory=dict)


async def multi_bench(  # noqa: PLR0917 - the order is the original's
    agents: "Mapping[str, AgentConfig]",
    domain_id: str,
    env_url: str,
    num_episodes: int = 5,
    role_order: Sequence[str] | None = None,
    window_size: int = 10,
    seed_set: Sequence[int] | None = None,
    max_parallel: int = 1,
    quiet: bool = False,
    domain: "DomainConfig | Mapping[str, Any] | None" = None,
    allow_any_model: bool = False,
) -> MultiBenchResult:
    """Run episodes in which the roles of `agents` act, each with its own model and history.

    The acting role is `active_role` in a step's info or in the observation, else the next one of `role_order` (default:
    the sorted names). A role remembers its last `window_size` turns. All else is as in `bench`. Raises as `bench` does,
    and ValueError without agents.
    """
    from bench_common.inference.entry import check_health, environment, limits, role_descriptions
    from bench_common.inference.play import play
    from bench_common.runtime.inference import allowed_model
    from bench_common.runtime.role_models import role_settings
    from mesocosm.core.run import AgentSettings, RunSpec, Selection

    if not agents:
        raise ValueError("multi_bench needs at least one agent: pass agents={role: AgentConfig(model=…)}")
    started = time.monotonic()
    models = {role: allowed_model(agent.model, allow_any_model=allow_any_model) for role, agent in agents.items()}
    source = await asyncio.to_thread(environment, domain_id, env_url, domain)
    await check_health(env_url)
    options = {
        "agents": {role: agent.model_dump(mode="json") for role, agent in agents.items()},
        "role_order": list(role_order or sorted(agents)),
        "window_size": window_size,
        "roles": role_descriptions(source),
    }
    spec = RunSpec(
        source,
        role_settings(models),
        AgentSettings("bench_common.runtime.multi_agent_loop:open_loop", options),
        Selection(None if seed_set is None else tuple(seed_set), num_episodes if seed_set is None else None),
        limits(),
        max(max_parallel, 1),
    )
    played = await play(spec, env_url, quiet=quiet)
    return MultiBenchResult(
        model=spec.model.name,
        domain_id=domain_id,
        num_episodes=len(played.episodes),
        episodes=played.episodes,
        elapsed_seconds=time.monotonic() - started,
        scores=played.scores,
        run_id=played.run_id,
        agents=models,
    )
