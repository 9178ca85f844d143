"""The client of an environment's HTTP interface."""

from typing import Any, Self

from mesocosm.core.ports import Observation
from mesocosm.core.ports import Step as StepResult
from mesocosm.environments.adapter import RunningServer
from mesocosm.environments.client import HttpEnvironment, Timeouts
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError

__all__ = ["HttpEnvClient", "Observation", "StepResult"]

PROBE_S = 5.0


class HttpEnvClient:
    """Runs episodes of the environment at `base_url`, each under the id passed to `reset`.

    `timeout` is the time limit of one call in seconds. Calls are never retried; errors are BenchErrors with the
    server's message.
    """

    def __init__(self, base_url: str, timeout: float = 60.0) -> None:
        self.base_url = base_url.rstrip("/")
        self._timeouts = Timeouts(timeout, timeout)
        self._client = HttpClient()
        self._episodes: dict[str, HttpEnvironment] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def health(self) -> bool:
        """Return whether the environment responds with status 200."""
        try:
            response = await self._client.request("GET", f"{self.base_url}/health", timeout=PROBE_S)
        except HttpError:
            return False
        return response.status == 200

    async def reset(self, episode_id: str, seed: int | None = None) -> Observation:
        """Start an episode."""
        self._episodes[episode_id] = self._episode(episode_id, seed)
        return await self._episodes[episode_id].reset()

    async def step(self, episode_id: str, action: Any) -> StepResult:
        """Act once. An episode that this client did not start is sent to the server too."""
        known = self._episodes.get(episode_id)
        return await (known or self._episode(episode_id, None)).step(action)

    async def close(self, episode_id: str) -> None:
        """End an episode; errors are ignored."""
        known = self._episodes.pop(episode_id, None)
        if known is not None:
            await known.close()

    async def aclose(self) -> None:
        """End every episode and close the connections."""
        for episode_id in list(self._episodes):
            await self.close(episode_id)
        await self._client.close()

    def _episode(self, episode_id: str, seed: int | None) -> HttpEnvironment:
        return HttpEnvironment(self._client, RunningServer(self.base_url), episode_id, seed, timeouts=self._timeouts)
