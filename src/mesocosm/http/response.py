"""A server's response."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.http.errors import BadResponse


class Response:
    """A complete response: status, headers by lower-case name, and the decoded body."""

    __slots__ = ("body", "headers", "method", "status", "url")

    def __init__(
        self, status: int, headers: Mapping[str, str], body: bytes, *, method: str = "GET", url: str = ""
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.method = method
        self.url = url

    def json(self) -> Any:
        """Return the body parsed as strict JSON, ignoring its content type. Raises BadResponse."""
        try:
            return read_json(self.body)
        except msgspec.DecodeError as error:
            start = self.body[:200].decode("utf-8", "replace")
            cause = f"status {self.status} with a body that is not JSON ({error}): {start!r}"
            raise BadResponse(self.method, self.url, cause) from error

    def __repr__(self) -> str:
        return f"<Response {self.status} of {self.method} {self.url}, {len(self.body)} bytes>"
