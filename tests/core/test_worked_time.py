"""How long a run was worked on."""

from typing import Any

import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec

SPEC = RunSpec(BenchmarkRef("environment", "/words.json"), ModelSettings("builtin/random"))


def run(**given: Any) -> Run:
    """Return a run that started at 100."""
    fields: dict[str, Any] = dict.fromkeys(
        ("id", "signature", "benchmark", "benchmark_title", "benchmark_version"), "x"
    )
    fields |= dict.fromkeys(("benchmark_digest", "kind", "model", "agent"), "x")
    return Run(**(fields | {"spec": SPEC, "started_at": 100.0} | given))


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({"started_at": None}, None),
        ({"ended_at": 900.0}, 800.0),
        ({"ended_at": 900.0, "provenance": {"worked_s": 4.5}}, 4.5),
        ({"provenance": {"session_at": 990.0}}, 10.0),
        ({"provenance": {"worked_s": 4.5, "session_at": 990.0}}, 14.5),
        ({"provenance": {"worked_s": 4.5, "session_at": 2_000.0}}, 4.5),
        ({}, 900.0),
    ],
)
def test_pauses_between_sessions_are_no_work(given: dict[str, Any], seconds: float | None) -> None:
    assert run(**given).worked_s(1_000.0) == seconds
