"""Run one model in one environment that is already served: as a function, and as a command."""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
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
    """Run episodes with the seeds in `seed_set`, else with 0…num_episodes−1, and return their results.

    `domain` is the result of `domain_config_from_manifest`; without it `domain_id` is looked up on the platform. The
    run is stored in the results directory like any other, and its traces also in the TraceStore. Unless `quiet`, print
    a line per episode to stdout. Models that are neither on this machine nor in model_catalog.ALLOWED_MODELS need
    `allow_any_model`.

    Raises ValueError for an unknown domain or a model that is not allowed, ConnectionError if no environment responds
    at `env_url`, and BenchError for everything else that prevents the run from starting.
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run episodes, print the result, and return the exit code: 0 if an episode could be scored, else 1 or more."""
    from mesocosm.core.failure import MesocosmError

    given = _parser().parse_args(arguments)
    try:
        result = asyncio.run(_bench(given))
    except MesocosmError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except (ValueError, ConnectionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"\n{result}\n\nrun {result.run_id}\n  mesocosm run show {result.run_id}")
    return 0 if result.scores else 1


async def _bench(given: argparse.Namespace) -> BenchResult:
    domain = _domain(given)
    return await bench(
        given.model,
        given.domain_id or (domain.id if domain else ""),
        given.env_url,
        given.episodes,
        given.seeds,
        given.system_prompt,
        given.temperature,
        given.max_tokens,
        given.parallel,
        given.quiet,
        domain=domain,
        allow_any_model=given.allow_any_model,
    )


def _domain(given: argparse.Namespace) -> "DomainConfig | None":
    from bench_common.env_sdk.manifest import domain_config_from_manifest
    from mesocosm.core.failure import UsageError

    if given.manifest is not None:
        return domain_config_from_manifest(given.manifest, domain_id=given.domain_id, env_url=given.env_url)
    if given.domain_id is None:
        raise UsageError("name the environment: --manifest FILE, or --domain-id ID for one that the platform knows")
    return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench_common.inference",
        description="Run episodes of an environment that is served already. `mesocosm run local` also starts it.",
    )
    parser.add_argument("--model", required=True, metavar="PROVIDER/NAME", help="model to run")
    parser.add_argument("--domain-id", metavar="ID", help="domain of the platform, or id instead of the manifest's")
    parser.add_argument("--manifest", type=Path, metavar="FILE", help="manifest of the environment")
    parser.add_argument("--env-url", default="http://localhost:8765", metavar="URL", help="[%(default)s]")
    parser.add_argument(
        "--episodes", "--num-episodes", type=int, default=5, metavar="N", help="seeds 0, 1, … [%(default)s]"
    )
    parser.add_argument("--seeds", "--seed-set", type=int, nargs="+", metavar="N", help="seeds instead")
    parser.add_argument("--system-prompt", metavar="TEXT", help="extra instruction")
    parser.add_argument("--temperature", type=float, default=0.0, help="[%(default)s]")
    parser.add_argument("--max-tokens", type=int, default=512, metavar="N", help="tokens of a reply [%(default)s]")
    parser.add_argument(
        "--parallel", "--max-parallel", type=int, default=1, metavar="N", help="episodes at the same time [%(default)s]"
    )
    parser.add_argument("--allow-any-model", action="store_true", help="use a model that is not in the catalogue")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    return parser


if __name__ == "__main__":
    sys.exit(main())
