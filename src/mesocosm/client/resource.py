"""Base class of the client's resources: sends and validates documents."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mesocosm.client.error import ApiError
from mesocosm.client.transport import BenchApi, Query

Body = Mapping[str, Any] | BaseModel
D = TypeVar("D", bound=BaseModel)


class Resource:
    """One kind of resource on one server. Every method raises ApiError when the server refuses."""

    def __init__(self, api: BenchApi) -> None:
        self._api = api

    def _one(self, kind: type[D], method: str, path: str, body: Body | None = None, query: Query | None = None) -> D:
        """Return the document in the response to a request."""
        answer = self._api.record(method, path, None if body is None else plain(body), query)
        try:
            return kind.model_validate(answer)
        except ValidationError as error:
            raise self._strange(method, path, error) from error

    def _many(self, kind: type[D], path: str, query: Query | None = None) -> tuple[D, ...]:
        """Return the documents at a path."""
        answer = self._api.records(path, query)
        try:
            return tuple(kind.model_validate(item) for item in answer)
        except ValidationError as error:
            raise self._strange("GET", path, error) from error

    def _done(self, method: str, path: str, body: Body | None = None) -> None:
        """Make a request and discard its response."""
        self._api.call(method, path, None if body is None else plain(body))

    def _strange(self, method: str, path: str, error: ValidationError) -> ApiError:
        fault = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        return ApiError(
            method,
            self._api.base_url + path,
            200,
            f"the answer is not what this client knows ({place}: {fault['msg']})",
            hint="is this a mesocosm server, no older than this client?",
        )


def plain(body: Body) -> dict[str, Any]:
    """Return a body as JSON values; fields of a document that are None are left out."""
    if isinstance(body, BaseModel):
        return body.model_dump(mode="json", exclude_none=True)
    return {
        key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value for key, value in body.items()
    }
