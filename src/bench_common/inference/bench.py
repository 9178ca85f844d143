"""One model in one environment that is served somewhere already."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench_common.inference.result import BenchResult

if TYPE_CHECKING:
    from bench_common.env_sdk.registration import DomainConfig

__all__ = ["BenchResult", "bench"]


async def bench(  # noqa: PLR0917 - the order is the original's
    model: str,
    domain_id: str,
    env_url: str,
    num_episodes: int = 5,
    seed_set: Sequence[int] | None = None,
    system_prompt: str | None = None,
    temperature: float = 0.0,
    max_tokens: int = 512,
    max_parallel: int = 1,
    quiet: bool = False,
    *,
    domain: "DomainConfig | Mapping[str, Any] | None" = None,
    allow_any_model: bool = False,
) -> BenchResult:
    """Play episodes with `seed_set`, else with the seeds 0…num_episodes−1, and return what came of them.

    `domain` is what `domain_config_from_manifest` returns; without it the platform is asked for `domain_id`. The run
    is kept in the results directory like any other, and its traces also in the TraceStore. Unless `quiet`, a line per
    episode goes to stdout. Models that are neither on this machine nor in model_catalog.ALLOWED_MODELS need
    `allow_any_model`.

    Raises ValueError for an unknown domain or a model that is not allowed, ConnectionError when no environment answers
    at `env_url`, and BenchError for everything else that keeps the run from starting.
    """
    from bench_common.inference.entry import check_health, environment, limits
    from bench_common.inference.play import play
    from bench_common.runtime.inference import allowed_model
    from mesocosm.core.model import ModelSettings
    from mesocosm.core.run import AgentSettings, RunSpec, Selection

    started = time.monotonic()
    name = allowed_model(model, allow_any_model=allow_any_model)
    source = await asyncio.to_thread(environment, domain_id, env_url, domain)
    await check_health(env_url)
    spec = RunSpec(
        source,
        ModelSettings(name, temperature, max_tokens),
        AgentSettings("loop", {"system_prompt": system_prompt} if system_prompt else {}),
        Selection(None if seed_set is None else tuple(seed_set), num_episodes if seed_set is None else None),
        limits(),
        max(max_parallel, 1),
    )
    played = await play(spec, env_url, quiet=quiet)
    return BenchResult(
        model=name,
        domain_id=domain_id,
        num_episodes=len(played.episodes),
        episodes=played.episodes,
        elapsed_seconds=time.monotonic() - started,
        scores=played.scores,
        run_id=played.run_id,
    )


if __name__ == "__main__":
    from bench_common.inference.command import main

    sys.exit(main())
