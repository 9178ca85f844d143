"""What was asked for as the spec of a run, and the run that it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.client.documents.protocol import Protocol
from mesocosm.client.documents.run import RunInput
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.ports import Parts
from mesocosm.core.registry import AGENTS, BENCHMARKS, MODELS
from mesocosm.core.run import HOSTED, AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine.offline import Unasked
from mesocosm.engine.session import new_run
from mesocosm.models.catalogue import IN_PROCESS
from mesocosm.server.catalogue import ServedModel
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings


@dataclass(frozen=True, slots=True)
class Place:
    """Where episodes are played: a version of a submitted environment, or an address with the domain's document."""

    environment_id: str | None = None
    version: int | None = None
    url: str = ""
    document: Mapping[str, Any] | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of the benchmark kind `hosted`."""
        if self.environment_id is not None:
            return {"environment": self.environment_id, "version": self.version}
        return {"env_url": self.url, "domain": dict(self.document or {})}


def run_spec(
    wanted: RunInput,
    place: Place,
    model: ServedModel,
    settings: Settings,
    *,
    run_usd: float | None = None,
    protocol: Protocol | None = None,
) -> RunSpec:
    """Return the spec of a run, an official one with a `protocol`; `run_usd` is what it may cost, None: no limit."""
    agent = wanted.agent_config
    options: dict[str, Any] = {}
    if agent.system_prompt:
        options["system_prompt"] = agent.system_prompt
    if agent.techniques:
        options["techniques"] = {item.technique_id: item.params for item in agent.techniques}
    most = settings.max_steps
    if protocol is not None:
        options["on_malformed"] = protocol.on_malformed
        most = min(most, protocol.max_steps or most)
    seeds = None if wanted.seed_set is None else tuple(wanted.seed_set)
    return RunSpec(
        benchmark=BenchmarkRef(HOSTED, wanted.domain_id, place.options()),
        model=ModelSettings(
            model.name, temperature=agent.temperature, max_tokens=agent.max_tokens, timeout_s=settings.model_s
        ),
        agent=AgentSettings(options=options),
        selection=Selection(
            seeds=seeds, count=None if seeds is not None else wanted.num_episodes, trials=wanted.trials
        ),
        limits=msgspec.structs.replace(_limits(wanted, settings, run_usd), episode_steps=most),
        parallel=min(wanted.max_parallel, settings.episodes_at_once),
        name=wanted.name,
        tags=tuple(wanted.tags),
    )


def _limits(wanted: RunInput, settings: Settings, run_usd: float | None) -> Limits:
    """Return the budgets of a run of this platform; what somebody asks for is stricter than the platform, or refused.

    Raises Refusal 422.
    """
    asked = (
        ("outage_seconds", wanted.outage_seconds, settings.outage_s),
        ("max_missing", wanted.max_missing, settings.max_missing),
    )
    for name, value, most in asked:
        if value is not None and value > most:
            raise Refusal(422, f"{name} {value:g} is more than the {most:g} that this platform allows")
    return Limits(
        episode_steps=settings.max_steps,
        episode_seconds=settings.episode_s,
        episode_tokens=settings.episode_tokens,
        run_seconds=settings.run_s,
        run_usd=run_usd,
        outage_seconds=settings.outage_s if wanted.outage_seconds is None else wanted.outage_seconds,
        max_missing=settings.max_missing if wanted.max_missing is None else wanted.max_missing,
    )


def planned_run(spec: RunSpec) -> Run:
    """Return the record of a run that has not started. Raises UsageError and InvalidInput for what cannot work."""
    benchmark = BENCHMARKS.get(spec.benchmark.kind)(spec.benchmark)
    agent = AGENTS.get(spec.agent.name)(spec.agent.options)
    name = ModelName.parse(spec.model.name)
    # Only workers have the keys of models; what answers inside the process needs none and may have content of its own.
    model = MODELS.get("*")(spec.model) if name.provider in IN_PROCESS else Unasked(name)
    run = new_run(spec, Parts(benchmark, model, agent))
    run.provenance = {key: value for key, value in run.provenance.items() if key not in {"command", "system"}}
    return run
