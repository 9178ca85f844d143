"""Runs that come from a replay file."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.interop.replayed import read_replay


@pytest.fixture
def document() -> dict[str, Any]:
    """A replay of one episode with one turn."""
    turn = {"step": 1, "observation": "a board", "action": "left", "reward": 1.0, "board_after": "another board"}
    return {
        "schema_version": "1",
        "domain_id": "game",
        "run": {"id": "r1", "status": "completed"},
        "episodes": [{"id": "e1", "seed": 1, "status": "completed", "steps": 1}],
        "replay": {"e1": [turn]},
    }


def read(document: dict[str, Any], place: Path) -> Any:
    path = place / "replay.json"
    path.write_text(json.dumps(document))
    return read_replay(path).entries[0]


def test_an_episode_knows_how_many_events_came_with_it(document: dict[str, Any], tmp_path: Path) -> None:
    assert read(document, tmp_path).episode.events == 4


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_kept(document: dict[str, Any], tmp_path: Path) -> None:
    document["episodes"][0]["task"] = "lone \ud800, whole \U0001f600"
    assert read(document, tmp_path).episode.task_id == "lone \ufffd, whole \U0001f600"
