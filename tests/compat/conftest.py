"""A ferry: an environment served on loopback, its domain, and a place of its own for what runs leave behind."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench_common.env_sdk.registration import DomainConfig
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

DOMAIN: dict[str, Any] = {
    "id": "ferry",
    "name": "Ferry",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "discrete", "enum_values": ["north", "south"]},
        "reward": {"type": "scalar"},
        "episode": {"max_steps": 6},
    },
    "endpoint": {"mode": "remote"},
    "scoring": {
        "primary_metric": "docked",
        "metrics": [
            {"name": "docked", "type": "terminal_field", "field": "docked", "aggregation": "pass_rate"},
            {"name": "mean_return", "type": "episode_reward", "aggregation": "mean"},
            {"name": "tide", "type": "terminal_field", "field": "tide", "aggregation": "mean"},
        ],
    },
}

Reply = tuple[int, Any]


class Ferry(LoopbackServer):
    """Docks at the second step; seed 13 sinks at the first. `turns` adds `active_role` to what the steps say."""

    def __init__(self, turns: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.turns = turns
        self.called: list[tuple[str, Any]] = []
        self._episodes: dict[str, list[Any]] = {}

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        body = request.body if request.raw else None
        self.called.append((request.path, body))
        status, answer = self._answer(request.path, body)
        connection.send(response(status, msgspec.json.encode(answer)))

    def _answer(self, path: str, body: Any) -> Reply:
        if path == "/health":
            return 200, {"status": "ok"}
        if path == "/reset":
            self._episodes[body["episode_id"]] = [body.get("seed")]
            return 200, {
                "data": {"pier": 0, **self._turn(0)},
                "content_type": "application/json",
                "system_prompt": "Sail!",
            }
        if path == "/step":
            episode = self._episodes[body["episode_id"]]
            if episode[0] == 13:
                return 500, {"detail": "the ferry sank"}
            episode.append(body["action"])
            steps = len(episode) - 1
            info = {"docked": "True", "sailed": episode[1:], **self._turn(steps)}
            return 200, {
                "observation": {"data": {"pier": steps}},
                "reward": 0.5,
                "terminated": steps == max(2, len(self.turns)),
                "truncated": False,
                "info": info,
            }
        return 200, {}

    def _turn(self, steps: int) -> dict[str, str]:
        return {"active_role": self.turns[steps]} if steps < len(self.turns) else {}

    @property
    def seeds(self) -> list[int | None]:
        """The seeds of all episodes, as they were asked for."""
        return [body.get("seed") for path, body in self.called if path == "/reset"]


@pytest.fixture
async def ferry() -> AsyncIterator[Ferry]:
    """The environment, served."""
    async with Ferry() as server:
        yield server


@pytest.fixture
def domain() -> DomainConfig:
    """Its domain, as `domain_config_from_manifest` gives it."""
    return DomainConfig.model_validate(DOMAIN)


@pytest.fixture
def changed() -> Callable[..., DomainConfig]:
    """Return a function that gives the domain with another binding vow."""

    def change(**vow: Any) -> DomainConfig:
        return DomainConfig.model_validate({**DOMAIN, "binding_vow": {**DOMAIN["binding_vow"], **vow}})

    return change


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory without settings of the person who runs the tests."""
    for name in ("TRACE_DIR", "MAX_EPISODE_STEPS", "MAX_STEPS_PER_EPISODE", "MAX_TOKENS_PER_EPISODE"):
        monkeypatch.delenv(f"ORCH_{name}", raising=False)
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(tmp_path / "credentials.json"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
