"""`python -m bench_common.inference`: episodes of a domain at a URL, from the command line."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_common.env_sdk.manifest import domain_config_from_manifest
from bench_common.env_sdk.registration import DomainConfig
from bench_common.inference.bench import bench
from bench_common.inference.result import BenchResult
from mesocosm.core.failure import MesocosmError, UsageError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run episodes, print the result, and return the exit code: 0 when an episode could be scored, else 1 or more."""
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


def _domain(given: argparse.Namespace) -> DomainConfig | None:
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
