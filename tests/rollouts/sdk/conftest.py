"""Backends for tests of executions."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.rollouts.sdk.executing import Make, Run, answer, grading, playing, praise

from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig


@pytest.fixture
def backends() -> Iterator[Make]:
    made: list[LocalBackend] = []

    def make(run: Run = answer, grade: Run | None = praise, **more: Any) -> LocalBackend:
        more.setdefault("workflow_config", AgentWorkflowConfig(name="test"))
        grader = None if grade is None else grading(grade)
        backend = LocalBackend(workflow=playing(run), grader=grader, **more)
        made.append(backend)
        return backend

    yield make
    for backend in made:
        backend.close()
