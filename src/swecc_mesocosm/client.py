"""The asynchronous client of a platform."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from mesocosm.client.error import ApiError
from mesocosm.client.transport import BenchApi, segment

_CONFLICT = 409

Body = Mapping[str, Any] | BaseModel


class BenchClient:
    """Calls a platform; each method is one or two requests in a thread and returns the JSON answer.

    URL and token are those given, else from the environment or the saved login (see
    `mesocosm.client.identity.identify`). Every method raises
    `mesocosm.client.ApiError` with status and detail when the platform refuses.
    """

    def __init__(self, base_url: str | None = None, token: str | None = None) -> None:
        self._api = BenchApi(base_url, token)
        self.base_url = self._api.base_url

    async def __aenter__(self) -> "BenchClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Do nothing: no connection outlives its request. Kept so that programs can close what they opened."""

    async def list_domains(self, published_only: bool | None = None) -> list[dict[str, Any]]:
        """Return the domains: published ones, unpublished ones, or all (None)."""
        query = {"published": None if published_only is None else str(published_only).lower()}
        return await asyncio.to_thread(self._api.records, "/v1/domains", query)

    async def get_domain(self, domain_id: str) -> dict[str, Any]:
        """Return one domain."""
        return await self._record("GET", f"/v1/domains/{segment(domain_id)}")

    async def create_domain(self, domain: Body) -> dict[str, Any]:
        """Create a domain. Its id must be new."""
        return await self._record("POST", "/v1/domains", _json(domain))

    async def upsert_domain(self, domain: Body) -> dict[str, Any]:
        """Create a domain, or update the one that has its id."""
        body = _json(domain)
        try:
            return await self._record("POST", "/v1/domains", body)
        except ApiError as error:
            if error.status != _CONFLICT:
                raise
        return await self._record("PATCH", f"/v1/domains/{segment(str(body.get('id')))}", body)

    async def publish_domain(self, domain_id: str) -> dict[str, Any]:
        """Publish a domain."""
        return await self._record("POST", f"/v1/domains/{segment(domain_id)}/publish")

    async def test_episode(self, body: Body | None = None, **fields: Any) -> dict[str, Any]:
        """Run one episode and return it: `domain_id`, `binding_vow_version`, `agent_config`, `env_url`, `seed`."""
        return await self._record("POST", "/v1/test/episode", {**_json(body or {}), **fields})

    async def create_run(self, body: Body | None = None, **fields: Any) -> dict[str, Any]:
        """Start a run and return it; the fields are those of `bench_common.core.run.RunConfig`."""
        return await self._record("POST", "/v1/runs", {**_json(body or {}), **fields})

    async def get_run(self, run_id: str) -> dict[str, Any]:
        """Return one run."""
        return await self._record("GET", f"/v1/runs/{segment(run_id)}")

    async def list_episodes(self, run_id: str) -> list[dict[str, Any]]:
        """Return the episodes of a run."""
        return await asyncio.to_thread(self._api.records, f"/v1/runs/{segment(run_id)}/episodes")

    async def get_run_traces(self, run_id: str) -> dict[str, Any]:
        """Return the events of a run by episode id."""
        return await self._record("GET", f"/v1/runs/{segment(run_id)}/traces")

    async def _record(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._api.record, method, path, body)


def _json(body: Body) -> dict[str, Any]:
    if isinstance(body, BaseModel):
        return body.model_dump(mode="json", exclude_none=True)
    return {
        key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value for key, value in body.items()
    }
