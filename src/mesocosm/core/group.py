"""Run groups: the outcome of each benchmark that one command was started for."""

import secrets
import time
from enum import StrEnum
from typing import Any

import msgspec


class OutcomeStatus(StrEnum):
    """Outcome of a benchmark in a group.

    `partial`: too many episodes have no value. `skipped`: the same experiment succeeded before. `incompatible`: this
    machine lacks something. `stopped`: the run was interrupted, with episodes pending.
    """

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    INCOMPATIBLE = "incompatible"


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """One benchmark in one group.

    `run_id` is the run that was created, continued or found; empty if none could be created, and then `reason` says
    why. `extra` is the effective configuration. `at` is in UNIX seconds.
    """

    group_id: str
    position: int
    benchmark: str
    directory: str
    status: OutcomeStatus
    provider: str = ""
    model: str = ""
    agent: str = ""
    extra: dict[str, Any] = {}
    signature: str = ""
    run_id: str = ""
    reason: str = ""
    comparison_id: str = ""
    at: float = 0.0


class RunGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """One command that ran benchmarks: its request (without secrets), the code version, times in UNIX seconds."""

    id: str
    created_at: float
    finished_at: float | None = None
    created_by: str = "mesocosm bench"
    request: dict[str, Any] = {}
    benchmarks: tuple[str, ...] = ()
    repository: dict[str, Any] = {}
    comparison_id: str = ""


def stamped_id(prefix: str, now: float | None = None) -> str:
    """Return a readable id such as `rg_20260504T120000Z_a1b2c3d4`; `now` is in UNIX seconds, None for the present."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    return f"{prefix}_{stamp}_{secrets.token_hex(4)}"
