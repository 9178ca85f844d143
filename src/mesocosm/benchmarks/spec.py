"""Turn a benchmark with its settings into the spec of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.catalogue import KnownBenchmark
from mesocosm.benchmarks.opening import reference
from mesocosm.benchmarks.parameters import BenchmarkParameters
from mesocosm.core.model import ModelSettings
from mesocosm.core.registry import AGENTS, fold
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, RunSpec, Selection

MODEL_TIMEOUT_S = 120.0


def benchmark_spec(
    known: KnownBenchmark,
    settings: BenchmarkParameters,
    model: str,
    *,
    agent: str = "",
    limits: Limits | None = None,
    parallel: int = 1,
    cache: str = "",
    tags: Sequence[str] = (),
    output: Path | None = None,
    benchmark: BenchmarkRef | None = None,
) -> RunSpec:
    """Return the spec of a run of a benchmark with a model.

    `agent` is a registered agent or a label for the benchmark's own, `output` is where an external program writes, and
    `benchmark` replaces the reference to the benchmark.
    """
    descriptor, parameters, general = known.descriptor, settings.parameters, settings.general
    return RunSpec(
        benchmark=benchmark or reference(known, parameters, output),
        model=ModelSettings(
            name=model,
            temperature=general.get("temperature", descriptor.model.temperature),
            max_tokens=general.get("max_tokens", descriptor.model.max_tokens),
            top_p=general.get("top_p"),
            extra={key: general[key] for key in ("reasoning_effort",) if key in general},
            timeout_s=MODEL_TIMEOUT_S,
            cache=cache,
        ),
        agent=benchmark_agent(agent, known),
        selection=Selection(count=parameters.get(descriptor.sampling), trials=general.get("trials", 1)),
        limits=limits or Limits(),
        parallel=parallel,
        tags=tuple(tags),
    )


def benchmark_agent(label: str, known: KnownBenchmark) -> AgentSettings:
    """Return the named agent of a benchmark; if it has none of that name, its own agent under that label."""
    descriptor = known.descriptor
    if label and (":" in label or fold(label) in {fold(entry.name) for entry in AGENTS.entries()}):
        return AgentSettings(label)
    return AgentSettings(descriptor.agent, dict(descriptor.agent_options), label)


def high_score(known: KnownBenchmark, settings: BenchmarkParameters) -> dict[str, Any] | None:
    """Return the best published score that a run of the whole benchmark is compared with; None if there is none."""
    descriptor = known.descriptor
    whole = not descriptor.sampling or settings.parameters.get(descriptor.sampling) is None
    kind = (descriptor.score.unit, descriptor.split)
    fitting = [one for one in descriptor.reference if (one.unit, one.split) == kind]
    if not whole or not fitting:
        return None
    sign = 1 if descriptor.score.higher_is_better else -1
    best = max(fitting, key=lambda one: sign * one.value)
    return {"label": best.label, "value": best.value, "source": best.source}
