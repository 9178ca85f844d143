"""Profiles: every id is a benchmark, every parameter is one of it, and nothing in them belongs to one machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.catalogue import BenchmarkCatalogue, read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.run import Selection

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "src" / "mesocosm" / "benchmarks" / "profiles").glob("*.json"))
NAMES = [path.name for path in PROFILES]
ISSUED = {
    "gsm8k",
    "mmlu",
    "humaneval",
    "bfcl",
    "context-bench",
    "realm",
    "eliza-format",
    "orchestrator_lifecycle",
    "eliza_replay",
    "gaia_orchestrated",
    "swe_bench_orchestrated",
    "solana",
    "osworld",
}


@pytest.fixture(scope="module")
def catalogue() -> BenchmarkCatalogue:
    return read_catalogue()


def profile(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / "benchmarks" / "orchestrator" / "profiles" / name).read_text())
    return read


def test_the_profiles_of_the_commands_that_are_published_are_there() -> None:
    assert NAMES == ["orchestrator_subagents.json", "sample10.json"]


def test_sample10_names_every_built_in_benchmark(catalogue: BenchmarkCatalogue) -> None:
    named = {catalogue.find(name).descriptor.id for name in profile("sample10.json")["per_benchmark"]}
    built_in = {known.descriptor.id for known in catalogue.benchmarks if known.origin == "built-in"}
    assert named == built_in == {catalogue.find(name).descriptor.id for name in ISSUED}


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_settles_for_all_benchmarks_and_for_each_alone(name: str, catalogue: BenchmarkCatalogue) -> None:
    read = profile(name)
    known = catalogue.descriptors
    assert len(settle(known, read, known)) == len(known)
    for part in read["per_benchmark"]:
        descriptor = catalogue.find(part).descriptor
        (settings,) = settle([descriptor], read, known)
        assert settings.effective.items() >= {**read["per_benchmark"][part]}.items()


@pytest.mark.parametrize("name", NAMES)
def test_no_profile_holds_an_absolute_path(name: str) -> None:
    def texts(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for part in value.values() for text in texts(part)]
        if isinstance(value, list):
            return [text for part in value for text in texts(part)]
        return [value] if isinstance(value, str) else []

    assert [text for text in texts(profile(name)) if text.startswith(("/", "~")) or "\\" in text] == []


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("context-bench", 40),
        ("realm", 22),
        ("eliza-format", 40),
        ("orchestrator_lifecycle", 12),
        ("eliza_replay", 4),
        ("gaia_orchestrated", 10),
    ],
)
def test_what_needs_no_data_from_elsewhere_has_that_many_tasks(
    name: str, count: int, catalogue: BenchmarkCatalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    known = catalogue.find(name)
    (settings,) = settle([known.descriptor], profile("sample10.json"), catalogue.descriptors)
    benchmark = open_benchmark(reference(known, settings.parameters))
    wanted = settings.parameters.get(known.descriptor.sampling)
    assert benchmark.count(Selection(count=wanted)) == count
    assert len(list(benchmark.tasks(Selection(count=wanted)))) == count
