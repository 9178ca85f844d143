"""What the `osmosis` command line 0.3.7 sends and what it accepts, request by request.

The requests are written down as the published program sends them; `tests/osmosis` has the program itself. Where the
program would fail, so does this: a redirect, an answer that is no JSON object, an address for bytes that is neither
https nor on this machine, an error without words.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
from tests.server.routes.conftest import Hosted

RELEASE = "0.3.7"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
CODES = {400: "VALIDATION", 401: "AUTH_REQUIRED", 404: "NOT_FOUND", 409: "CONFLICT", 429: "RATE_LIMITED"}


@dataclass(eq=False)
class OsmosisError(Exception):
    """An error as the program prints it."""

    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code}: {self.message} {dict(self.details)}"


class OsmosisClient:
    """The program, logged in with a token, in a clone of `repository` or with `--workspace`."""

    def __init__(self, hosted: Hosted, token: str, *, repository: str = "acme/evals", workspace: str = "") -> None:
        self._hosted = hosted
        self._scope = {"X-Osmosis-Workspace": workspace} if workspace else {"X-Osmosis-Git": repository}
        self._token = token

    def headers(self, *, scoped: bool = True, token: bool = True) -> dict[str, str]:
        """Return the headers of a request."""
        return {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"osmosis-cli/{RELEASE}",
            "X-Osmosis-Cli-Version": RELEASE,
            "Connection": "close",
            **({"Authorization": f"Bearer {self._token}"} if token else {}),
            **(self._scope if scoped else {}),
        }

    def call(
        self, method: str, path: str, body: Any = None, *, scoped: bool = True, token: bool = True, **query: Any
    ) -> dict[str, Any]:
        """Return the JSON object of an answer. Raises OsmosisError."""
        address = f"/api/cli{path}" + (f"?{urlencode(query)}" if query else "")
        content = None if body is None else json.dumps(body).encode()
        headers = self.headers(scoped=scoped, token=token)
        answer = self._hosted.request(method, address, content=content, headers=headers)
        assert not answer.is_redirect, f"{method} {address} is redirected, which loses its body"
        if not answer.is_success:
            raise _error(answer)
        found = json.loads(answer.content or b"{}")
        assert isinstance(found, dict), f"{method} {address}: no object"
        return found

    def send(self, address: str, data: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Send bytes to an address that the server named."""
        sent = {**headers, "Content-Length": str(len(data)), "User-Agent": "python-httpx/0.28.1"}
        answer = self._hosted.request("PUT", _place(address), content=data, headers=sent)
        assert answer.is_success, answer.text
        return answer

    def fetch(self, address: str) -> httpx.Response:
        """Return the bytes of an address that the server named."""
        answer = self._hosted.request("GET", _place(address), headers={"User-Agent": "python-httpx/0.28.1"})
        assert answer.status_code == 200, answer.text
        return answer

    def upload(self, name: str, data: bytes, **given: Any) -> dict[str, Any]:
        """Upload a dataset: what `dataset upload` does after its question."""
        body = {"file_name": name, "file_size": len(data), "extension": "jsonl", **given}
        begun = self.call("POST", "/datasets", body)
        parts = self.send_all(begun["upload"], data)
        done = {"file_extension": "jsonl", **({"parts": parts} if parts else {})}
        return self.call("POST", f"/datasets/{begun['id']}/complete", done)

    def send_all(self, upload: dict[str, Any], data: bytes) -> list[dict[str, Any]]:
        """Send a file as the server said; return the parts for `complete`, none for a simple upload."""
        if upload["method"] == "simple":
            self.send(upload["presigned_url"], data, upload.get("upload_headers") or {})
            return []
        size, parts = upload["part_size"], []
        addresses = {one["part_number"]: one for one in upload["presigned_urls"]}
        assert sorted(addresses) == list(range(1, upload["total_parts"] + 1))
        assert size * (upload["total_parts"] - 1) < len(data) <= size * upload["total_parts"]
        for number, one in sorted(addresses.items()):
            part = data[(number - 1) * size : number * size]
            assert one.get("size") in (None, len(part))
            tag = self.send(one["presigned_url"], part, {}).headers["ETag"].strip('"')
            assert tag
            parts.append({"PartNumber": number, "ETag": tag})
        return parts


def _place(address: str) -> str:
    parts = urlsplit(address)
    assert parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK), address
    return f"{parts.path}?{parts.query}"


def _error(answer: httpx.Response) -> OsmosisError:
    body = answer.json()
    words = body.get("message") or body.get("error")
    assert isinstance(words, str), f"the program prints this as it is: {answer.text}"
    assert words.strip(), f"the program prints this as it is: {answer.text}"
    return OsmosisError(CODES.get(answer.status_code, "PLATFORM_ERROR"), words, body)
