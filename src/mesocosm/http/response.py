"""What a server answered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.http.errors import BadResponse


class Headers(Mapping[str, str]):
    """Header fields by lower-case name. Lookups ignore case; repeated fields are joined by a comma and a space."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Sequence[tuple[bytes, bytes]] = ()) -> None:
        self._fields = fields

    def get_all(self, name: str) -> list[str]:
        """Return every value of a field in the order received, for those that must not be joined (Set-Cookie)."""
        wanted = name.lower().encode("latin-1", "replace")
        return [value.decode("latin-1") for key, value in self._fields if key == wanted]

    def __getitem__(self, name: str) -> str:
        if values := self.get_all(name):
            return ", ".join(values)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(key.decode("latin-1") for key, _ in self._fields))

    def __len__(self) -> int:
        return len({key for key, _ in self._fields})

    def __repr__(self) -> str:
        return f"Headers({dict(self)!r})"


class Response:
    """A complete response: status, headers, and the body after any content encoding was undone."""

    __slots__ = ("body", "headers", "method", "status", "url")

    def __init__(self, status: int, headers: Headers, body: bytes, *, method: str = "GET", url: str = "") -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.method = method
        self.url = url

    def json(self) -> Any:
        """Return the body read as strict JSON, whatever its content type. Raises BadResponse."""
        try:
            return read_json(self.body)
        except msgspec.DecodeError as error:
            start = self.body[:200].decode("utf-8", "replace")
            cause = f"status {self.status} with a body that is not JSON ({error}): {start!r}"
            raise BadResponse(self.method, self.url, cause) from error

    def __repr__(self) -> str:
        return f"<Response {self.status} of {self.method} {self.url}, {len(self.body)} bytes>"
