"""Documents of the older orchestrator: its list of runs, and the viewer_data.json of its viewer.

viewer_data.json holds the newest runs and groups with all their columns, and summaries of all rows. Its keys:
generated_at, runs, run_groups, latest_scores, benchmark_summary, model_summary, agent_summary, calibration_summary;
runs_total and run_groups_total include the rows left out. `generated_at` is the newest time in the data, not the
current time, so that equal results give equal files.

Scores of different benchmarks are never averaged: a model or an agent has a mean only if all its scores belong to one
benchmark. Skipped and incompatible rows are counted separately and are not attempts.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.interop.files import replacing
from mesocosm.store.legacy_list import read_ledger
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from mesocosm.store import Store
    from mesocosm.store.legacy_views import LegacyRow

NAME = "viewer_data.json"

RUNS, GROUPS = 10_000, 3_000
"""Maximum numbers of rows; the newest are kept."""

_SUFFIX = "_json"
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def viewer_data(store: "Store") -> dict[str, Any]:
    """Return the whole document. `write_viewer_data` writes the same document without holding it in memory."""
    return {name: list(part) if isinstance(part, Iterator) else part for name, part in _parts(store)}


def write_viewer_data(store: "Store", folder: Path) -> Path:
    """Write viewer_data.json into `folder` atomically and return its path. Raises UsageError if that fails."""
    path = folder / NAME
    with replacing(path) as file:
        for number, (name, part) in enumerate(_parts(store)):
            file.write(b"{\n" if number == 0 else b",\n")
            file.write(_encode(name) + b": ")
            if not isinstance(part, Iterator):
                file.write(_encode(part))
                continue
            file.write(b"[")
            for row, content in enumerate(part):
                file.write((b"\n" if row == 0 else b",\n") + _encode(content))
            file.write(b"]")
        file.write(b"\n}\n")
    return path


def _parts(store: "Store") -> Iterator[tuple[str, Any]]:
    sums = LegacySummaries(store.legacy_views.lines())
    groups = [_decoded(row) for row in store.legacy_views.newest_groups(GROUPS)]
    runs_total, groups_total = store.legacy_views.totals()
    yield "generated_at", max([sums.newest, *(str(row["updated_at"]) for row in groups)]) or None
    yield "runs_total", runs_total
    yield "runs", (_run(row) for row in store.legacy_views.newest_runs(RUNS))
    yield "run_groups_total", groups_total
    yield "run_groups", groups
    yield "latest_scores", sums.latest_scores()
    yield "benchmark_summary", sums.benchmarks()
    yield "model_summary", sums.models()
    yield "agent_summary", sums.agents()
    yield "calibration_summary", sums.calibration()


def _run(row: dict[str, Any]) -> dict[str, Any]:
    decoded = _decoded(row)
    better = decoded["higher_is_better"]
    return {**decoded, "higher_is_better": None if better is None else bool(better)}


def _decoded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its JSON columns decoded, under their names without the suffix `_json`."""
    return {
        name.removesuffix(_SUFFIX): _decode(value) if name.endswith(_SUFFIX) and value is not None else value
        for name, value in row.items()
    }


def shown_runs(source: "Store | Path | str", *, limit: int = 200, desc: bool = False) -> list[dict[str, Any]]:
    """Return at most `limit` rows of runs, sorted by agent and run id, in reverse order with `desc`.

    `source` is an open store, or the location of one: a results directory, a SQLite file, a database URL. A file is
    read without opening it as a store, which is much faster. Keys: run_id, started_at (ISO 8601, UTC), benchmark_id,
    agent, provider, model, status, score (None if there is none), missing (episodes without a value, by cause). Rows
    without a run (skipped, incompatible, failed before the run started) are included. Raises UnknownName if there are
    no results, UsageError and InfrastructureError if they cannot be read.
    """
    return [_with_missing(row) for row in _rows(source, limit, desc=desc)]


def _with_missing(row: dict[str, Any]) -> dict[str, Any]:
    listed = json.loads(row["metrics"] or "[]")
    missing: dict[str, int] = next((metric.get("missing", {}) for metric in listed if metric.get("primary")), {})
    return {**{name: value for name, value in row.items() if name != "metrics"}, "missing": missing}


def _rows(source: "Store | Path | str", limit: int, *, desc: bool) -> list[dict[str, Any]]:
    if not isinstance(source, Path | str):
        return source.legacy_views.by_agent(limit, desc=desc)
    if "://" not in str(source):
        path = Path(source)
        rows = read_ledger(path / DATABASE_NAME if path.is_dir() else path, limit, desc=desc)
        if rows is not None:
            return rows
    from mesocosm.store import open_store

    store = open_store(source, create=False)
    try:
        return store.legacy_views.by_agent(limit, desc=desc)
    finally:
        store.close()


SYNTHETIC = ("random", "oracle", "empty")
"""Built-in models that calibrate a benchmark: lower bound, upper bound, and empty answers."""

NO_MEAN = "scores of different benchmarks have no common mean"

_NO_ATTEMPT = ("skipped", "incompatible")
_Key = Callable[["LegacyRow"], str]


@dataclass(slots=True)
class _Tally:
    """Counts and best scores of the rows of one benchmark, model or agent."""

    states: Counter[str] = field(default_factory=Counter)
    latest: "LegacyRow | None" = None
    best: "dict[str, LegacyRow]" = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=dict)
    scored: Counter[str] = field(default_factory=Counter)

    def add(self, line: "LegacyRow") -> None:
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


class LegacySummaries:
    """Summaries of all rows, computed in one pass; memory grows only with benchmarks × models × agents."""

    def __init__(self, lines: "Iterable[LegacyRow]" = ()) -> None:
        self.newest = ""
        self._latest: dict[tuple[str, str, str, str], LegacyRow] = {}
        self._tallies: dict[str, dict[str, _Tally]] = {name: {} for name in ("benchmark", "model", "agent")}
        self._calibration: dict[str, dict[str, LegacyRow]] = {}
        for line in lines:
            self._add(line)

    def _add(self, line: "LegacyRow") -> None:
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
        """Return for each benchmark its counts, its best score by its direction, and its latest run."""
        return [_benchmark(name, tally) for name, tally in sorted(self._tallies["benchmark"].items())]

    def models(self) -> list[dict[str, Any]]:
        """Return for each model its counts; also mean and best score if all its scores belong to one benchmark."""
        return [{"model_key": name, **_across(tally)} for name, tally in sorted(self._tallies["model"].items())]

    def agents(self) -> list[dict[str, Any]]:
        """Return for each agent its counts; also mean and best score if all its scores belong to one benchmark."""
        return [{"agent": name, **_across(tally)} for name, tally in sorted(self._tallies["agent"].items())]

    def calibration(self) -> list[dict[str, Any]]:
        """Return for each benchmark the newest score of each built-in calibration model."""
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


def _age(line: "LegacyRow") -> tuple[str, int, str]:
    return (line.started_at, line.attempt, line.run_id)


def _better(line: "LegacyRow", best: "LegacyRow") -> bool:
    score, known = line.score or 0.0, best.score or 0.0
    return score < known if line.higher_is_better == 0 else score > known


def _keep_newer(found: "dict[Any, LegacyRow]", key: object, line: "LegacyRow") -> None:
    if key not in found or _age(line) > _age(found[key]):
        found[key] = line


def _score(line: "LegacyRow") -> dict[str, Any]:
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


def _flag(line: "LegacyRow") -> bool | None:
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
