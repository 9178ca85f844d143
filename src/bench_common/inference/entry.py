"""Checks and look-ups of `bench` and `multi_bench` before anything runs."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from bench_common.config.settings import settings
from mesocosm.agents.multi_agent import MultiAgentParams
from mesocosm.agents.technique import declared_params
from mesocosm.client.transport import BenchApi, BenchApiError, segment
from mesocosm.core.registry import fold
from mesocosm.core.run import BenchmarkRef, Limits
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError

PROBE_S = 5.0

_DESCRIBING = ("id", "name", "binding_vow", "scoring", "description", "detail", "tags", "system_prompt")
_NOT_FOUND = 404


def environment(domain_id: str, env_url: str, domain: BaseModel | Mapping[str, Any] | None) -> BenchmarkRef:
    """Return the environment at `env_url` as a benchmark. Raises ValueError if the domain is unknown."""
    if domain is None:
        document = _from_platform(domain_id)
    elif isinstance(domain, BaseModel):
        # Exclude unset fields: an explicit value, for example of parallel_episodes, would count as the author's choice.
        document = domain.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    else:
        document = dict(domain)
    described = {key: document[key] for key in _DESCRIBING if document.get(key) is not None}
    return BenchmarkRef(
        "environment", domain_id, {"domain": described, "domain_id": domain_id, "env_url": env_url.rstrip("/")}
    )


def _from_platform(domain_id: str) -> dict[str, Any]:
    try:
        document = BenchApi().record("GET", f"/v1/domains/{segment(domain_id)}")
    except BenchApiError as error:
        if error.status != _NOT_FOUND:
            raise
        raise ValueError(
            f"the platform knows no domain {domain_id!r} ({error}); to run one of your own, pass "
            "domain=domain_config_from_manifest(PATH)"
        ) from error
    # The platform's response includes every default, and this default would forbid parallel episodes.
    episode = document.get("binding_vow", {}).get("episode", {})
    if episode.get("parallel_episodes") == 1:
        del episode["parallel_episodes"]
    return document


async def check_health(env_url: str) -> None:
    """Check that an environment responds. Raises ConnectionError with the problem if it does not."""
    url = f"{env_url.rstrip('/')}/health"
    try:
        async with HttpClient() as client:
            status = (await client.request("GET", url, timeout=PROBE_S)).status
    except (HttpError, ValueError) as error:
        raise ConnectionError(f"no environment answers: {error}; start its adapter first") from error
    if status != 200:
        raise ConnectionError(f"GET {url} answers with status {status}, not 200; is that the environment's URL?")


def limits() -> Limits:
    """Return the episode limits in the settings."""
    return Limits(episode_steps=settings.max_steps_per_episode, episode_tokens=settings.max_tokens_per_episode)


def role_descriptions(source: BenchmarkRef) -> dict[str, str]:
    """Return the binding vow's description of each role, if it declares the technique multi_agent."""
    declared = source.options["domain"].get("binding_vow", {}).get("techniques") or []
    for technique in declared:
        if fold(str(technique.get("technique_id"))) == "multi-agent":
            role_prompts = declared_params(technique.get("config_schema")).get("roles", {})
            return MultiAgentParams(roles=role_prompts).roles
    return {}
