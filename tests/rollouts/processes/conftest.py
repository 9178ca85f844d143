"""Rollouts of a few words, served by a program that knows only the published protocol."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mesocosm.rollouts.executor import ModelAccess, RowJob
from mesocosm.rollouts.processes.executor import ProcessExecutor

SERVER = Path(__file__).with_name("protocol_server.py")

Opened = Callable[..., Awaitable[ProcessExecutor]]
Working = Callable[..., RowJob]


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    folder = tmp_path / "rollout"
    folder.mkdir()
    shutil.copy(SERVER, folder / "main.py")
    return folder


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
async def opened(tmp_path: Path, rollout: Path, notices: list[str]) -> AsyncIterator[Opened]:
    places = []

    async def opened(environment: Mapping[str, str] = {}, **options: Any) -> ProcessExecutor:
        place = ProcessExecutor(rollout, "main.py", environment=environment, installs=tmp_path / "installs", **options)
        places.append(place)
        await place.open(notices.append)
        return place

    yield opened
    for place in places:
        await place.close()


@pytest.fixture
def working(tmp_path: Path) -> Working:
    def working(word: str, workflow_seconds: float | None = 20.0, grader_seconds: float | None = 20.0) -> RowJob:
        return RowJob(
            id=f"episode-{word}",
            prompt=[{"role": "user", "content": word}],
            label="a",
            metadata=None,
            row=4,
            trial=1,
            seed=7,
            model=ModelAccess("http://127.0.0.1:9/v1", "the-key", "some/model"),
            judge=None,
            artifacts=tmp_path / "artifacts" / word,
            workflow_seconds=workflow_seconds,
            grader_seconds=grader_seconds,
        )

    return working


@pytest.fixture
def log() -> Callable[[str, str], None]:
    return lambda stream, line: None
