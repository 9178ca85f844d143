"""What viewer_data.json sums up, gathered in one pass over all rows.

Attempts are rows of runs; what was skipped or could not run here is counted beside them. Scores of different
benchmarks are never averaged: the mean of a model or an agent is only told where all its scores are of one benchmark.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mesocosm.store import LedgerLine

SYNTHETIC = ("random", "oracle", "empty")
"""The built-in models that calibrate a benchmark: its floor, its ceiling, and no answer at all."""

NO_MEAN = "scores of different benchmarks have no common mean"

_NO_ATTEMPT = ("skipped", "incompatible")
_Key = Callable[["LedgerLine"], str]


@dataclass(slots=True)
class _Tally:
    """What is known of the rows of one benchmark, model or agent."""

    states: Counter[str] = field(default_factory=Counter)
    latest: "LedgerLine | None" = None
    best: "dict[str, LedgerLine]" = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    scored: Counter[str] = field(default_factory=Counter)

    def add(self, line: "LedgerLine") -> None:
        self.states[line.status] += 1
        if line.status in _NO_ATTEMPT:
            return
        if self.latest is None or _age(line) > _age(self.latest):
            self.latest = line
        if line.status != "succeeded" or line.score is None:
            return
        name = line.benchmark_id
        self.scored[name] += 1
        self.total[name] = self.total.get(name, 0.0) + line.score
        best = self.best.get(name)
        if best is None or _better(line, best):
            self.best[name] = line

    def counts(self) -> dict[str, int]:
        runs = sum(count for state, count in self.states.items() if state not in _NO_ATTEMPT)
        others = {state: self.states[state] for state in ("failed", *_NO_ATTEMPT)}
        return {"runs": runs, "succeeded_runs": self.states["succeeded"], **others}


class Summaries:
    """Counts and picks while rows pass by; memory grows with benchmarks × models × agents only."""

    def __init__(self, lines: "Iterable[LedgerLine]" = ()) -> None:
        self.newest = ""
        self._latest: dict[tuple[str, str, str, str], LedgerLine] = {}
        self._tallies: dict[str, dict[str, _Tally]] = {name: {} for name in ("benchmark", "model", "agent")}
        self._calibration: dict[str, dict[str, LedgerLine]] = {}
        for line in lines:
            self._add(line)

    def _add(self, line: "LedgerLine") -> None:
        self.newest = max(self.newest, line.ended_at or "", line.started_at)
        for name, key in _KEYS.items():
            self._tallies[name].setdefault(key(line), _Tally()).add(line)
        if line.status == "succeeded" and line.score is not None:
            _keep_newer(self._latest, (line.benchmark_id, line.agent, line.provider, line.model), line)
        if line.provider == "builtin" and line.model in SYNTHETIC and line.status not in _NO_ATTEMPT:
            _keep_newer(self._calibration.setdefault(line.benchmark_id, {}), line.model, line)

    def latest_scores(self) -> list[dict[str, Any]]:
        """Return the newest score of each (benchmark, agent, provider, model)."""
        return [_score(line) for _key, line in sorted(self._latest.items())]

    def benchmarks(self) -> list[dict[str, Any]]:
        """Return for each benchmark how often it was run, its best score by its direction, and its latest run."""
        return [_benchmark(name, tally) for name, tally in sorted(self._tallies["benchmark"].items())]

    def models(self) -> list[dict[str, Any]]:
        """Return for each model how often it was run, and mean and best where all scores are of one benchmark."""
        return [{"model_key": name, **_across(tally)} for name, tally in sorted(self._tallies["model"].items())]

    def agents(self) -> list[dict[str, Any]]:
        """Return the same for each agent."""
        return [{"agent": name, **_across(tally)} for name, tally in sorted(self._tallies["agent"].items())]

    def calibration(self) -> list[dict[str, Any]]:
        """Return for each benchmark the newest score of each built-in model that calibrates it."""
        return [
            {
                "benchmark_id": name,
                "scores": {model: found[model].score if model in found else None for model in SYNTHETIC},
                "statuses": {model: found[model].status if model in found else "missing" for model in SYNTHETIC},
                "complete": all(model in found and found[model].score is not None for model in SYNTHETIC),
            }
            for name, found in sorted(self._calibration.items())
        ]


_KEYS: dict[str, _Key] = {
    "benchmark": lambda line: line.benchmark_id,
    "model": lambda line: f"{line.provider}/{line.model}",
    "agent": lambda line: line.agent,
}


def _age(line: "LedgerLine") -> tuple[str, int, str]:
    return (line.started_at, line.attempt, line.run_id)


def _better(line: "LedgerLine", best: "LedgerLine") -> bool:
    score, known = line.score or 0.0, best.score or 0.0
    return score < known if line.higher_is_better == 0 else score > known


def _keep_newer(found: "dict[Any, LedgerLine]", key: object, line: "LedgerLine") -> None:
    if key not in found or _age(line) > _age(found[key]):
        found[key] = line


def _score(line: "LedgerLine") -> dict[str, Any]:
    return {
        "benchmark_id": line.benchmark_id,
        "agent": line.agent,
        "provider": line.provider,
        "model": line.model,
        "run_id": line.run_id,
        "score": line.score,
        "unit": line.unit,
        "higher_is_better": _flag(line),
        "started_at": line.started_at,
        "ended_at": line.ended_at,
        "benchmark_version": line.benchmark_version,
        "high_score_label": line.high_score_label,
        "high_score_value": line.high_score_value,
        "delta_to_high_score": line.delta_to_high_score,
    }


def _flag(line: "LedgerLine") -> bool | None:
    return None if line.higher_is_better is None else bool(line.higher_is_better)


def _benchmark(name: str, tally: _Tally) -> dict[str, Any]:
    best, latest = tally.best.get(name), tally.latest
    return {
        "benchmark_id": name,
        **tally.counts(),
        "best_score": None if best is None else best.score,
        "best_run_id": None if best is None else best.run_id,
        "unit": None if best is None else best.unit,
        "higher_is_better": None if best is None else _flag(best),
        "latest_run_id": None if latest is None else latest.run_id,
        "latest_started_at": None if latest is None else latest.started_at,
        "latest_model": None if latest is None else latest.model,
        "latest_provider": None if latest is None else latest.provider,
    }


def _across(tally: _Tally) -> dict[str, Any]:
    found: dict[str, Any] = {**tally.counts(), "benchmarks": len(tally.scored)}
    if len(tally.scored) == 1:
        ((name, number),) = tally.scored.items()
        return {**found, "average_score": tally.total[name] / number, "best_score": tally.best[name].score}
    reason = {"average_score_reason": NO_MEAN} if tally.scored else {}
    return {**found, "average_score": None, "best_score": None, **reason}
