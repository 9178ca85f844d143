"""How many episodes run at once: what was asked for, within what the environment can take."""

from mesocosm.core.info import BenchmarkInfo
from mesocosm.engine.execution import beyond_default


def info(**known: int | None) -> BenchmarkInfo:
    return BenchmarkInfo("env", "Env", "1.0.0", "0", "environment", (), **known)  # type: ignore[arg-type]


def test_more_at_once_than_a_manifest_names_is_told() -> None:
    warning = beyond_default(info(parallel_default=1), 8)
    assert warning.startswith("8 episodes at a time, as asked, although the manifest says parallel_episodes 1")
    assert "max_parallel_episodes" in warning


def test_nothing_is_told_within_the_limits() -> None:
    assert [
        beyond_default(info(parallel_default=1), 1),
        beyond_default(info(), 8),
        beyond_default(info(parallel=4), 4),
    ] == [
        "",
        "",
        "",
    ]
