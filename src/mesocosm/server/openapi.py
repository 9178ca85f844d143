"""The OpenAPI document, with the error responses of each route derived from its access rule, path and body."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI

from mesocosm.server.permissions.route_access import Access
from mesocosm.server.problems import WHY
from mesocosm.server.schemas.problem import ProblemDocument

_OBJECTS = frozenset({Access.READER, Access.HOLDER, Access.INSIDER, Access.OWNER})
_CHANGING = frozenset({"post", "put", "patch", "delete"})


class DescribedApp(FastAPI):
    """An application whose OpenAPI document lists specific errors instead of `4XX`."""

    described_by: Callable[[], FastAPI] | None = None
    """Returns an application with all routes. Set if this one imports some routes later."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document, which is cached."""
        if self.openapi_schema is None and self.described_by is not None:
            self.openapi_schema = self.described_by().openapi()
        if self.openapi_schema is None:
            document = super().openapi()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schema = ProblemDocument.model_json_schema(
                mode="serialization", ref_template="#/components/schemas/{model}"
            )
            schemas.update(schema.pop("$defs", {}))
            schemas[ProblemDocument.__name__] = schema
            for operations in document["paths"].values():
                for method, operation in operations.items():
                    _name_refusals(method, operation)
        assert self.openapi_schema is not None
        return self.openapi_schema


def refusals(method: str, rule: str, *, path: bool, body: bool) -> set[int]:
    """Return the error statuses that any route with this access rule, method, path and body may return."""
    found = {503}
    if rule not in (Access.PUBLIC, Access.READER):
        found.add(401)
    if rule not in (Access.PUBLIC, Access.WORKER) or method in _CHANGING:
        # Read-only personal tokens are refused for any change.
        found.add(403)
    if path or rule in _OBJECTS:
        found.add(404)
    if body:
        found.add(413)
    return found


def _name_refusals(method: str, operation: dict[str, Any]) -> None:
    answers: dict[str, Any] = operation["responses"]
    wildcard = answers.pop("4XX", None)
    if wildcard is None:
        return
    placed = any(parameter["in"] == "path" for parameter in operation.get("parameters", ()))
    found = refusals(method, operation.get("x-access", ""), path=placed, body="requestBody" in operation)
    for status in sorted(found):
        answers.setdefault(str(status), {**wildcard, "description": WHY[status]})
