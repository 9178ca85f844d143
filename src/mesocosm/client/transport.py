"""The HTTP interface of a platform, spoken with the standard library: programs that only register need nothing else."""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from mesocosm.core.failure import MesocosmError, UsageError

PRODUCTION = "https://api.swecc.org/bench"
LOCAL = "http://127.0.0.1:8010"
URL_VARIABLES = ("MESOCOSM_BASE_URL", "SWECC_BENCH_URL", "BENCH_API_URL")
TOKEN_VARIABLES = ("SWECC_BENCH_TOKEN", "SWECC_BENCH_GUEST_TOKEN")
CREDENTIALS_VARIABLE = "SWECC_BENCH_CREDENTIALS"

_TRUE = frozenset({"1", "true", "yes", "on"})


class BenchApiError(MesocosmError):
    """The platform said no, or could not be reached (`status` 0). `detail` holds its own words."""

    def __init__(self, method: str, url: str, status: int, detail: str) -> None:
        self.method = method
        self.url = url
        self.status = status
        self.detail = detail
        if status:
            super().__init__(f"HTTP {status} for {method} {url}: {detail}")
        else:
            super().__init__(f"{method} {url} got no answer: {detail}; is the platform running, and the URL right?")


class BenchApi:
    """One platform and one identity. Calls block, take one connection each, and follow no redirects.

    The URL is the given one, else MESOCOSM_BASE_URL, SWECC_BENCH_URL, BENCH_API_URL, the saved one, the local platform
    with MESOCOSM_LOCAL, else production. The token is the given one, else SWECC_BENCH_TOKEN, SWECC_BENCH_GUEST_TOKEN,
    else the saved one.
    """

    def __init__(self, base_url: str | None = None, token: str | None = None, *, timeout: float = 120.0) -> None:
        saved = _saved()
        self.base_url = (base_url or _variable(URL_VARIABLES) or saved.get("bench_url") or _default_url()).rstrip("/")
        self.token = token or _variable(TOKEN_VARIABLES) or saved.get("token", "")
        self.timeout = timeout
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{self.base_url!r} is no URL of a platform; it looks like {LOCAL}")
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if parts.hostname in ("localhost", "127.0.0.1", "::1"):
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def call(
        self, method: str, path: str, body: object = None, query: Mapping[str, str | int | None] | None = None
    ) -> Any:
        """Return the JSON answer to one request, None where it has no body. Raises BenchApiError."""
        given = {key: value for key, value in (query or {}).items() if value is not None}
        url = self.base_url + path + (f"?{urlencode(given)}" if given else "")
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
        try:
            with self._opener.open(request, timeout=self.timeout) as answer:
                return _decoded(method, url, answer.status, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise BenchApiError(method, url, error.code, _detail(error.read(65536), error.reason)) from None
        except urllib.error.URLError as error:
            raise BenchApiError(method, url, 0, str(error.reason)) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise BenchApiError(method, url, 0, str(error) or type(error).__name__) from error

    def record(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Return the JSON object that answers one request, empty where there is no body. Raises BenchApiError."""
        answer = self.call(method, path, body)
        if answer is not None and not isinstance(answer, dict):
            raise BenchApiError(method, self.base_url + path, 200, f"the answer is no object: {answer!r:.200}")
        return answer or {}

    def records(self, path: str, query: Mapping[str, str | int | None] | None = None) -> list[dict[str, Any]]:
        """Return the list of JSON objects at `path`. Raises BenchApiError."""
        answer = self.call("GET", path, query=query)
        if not isinstance(answer, list):
            raise BenchApiError("GET", self.base_url + path, 200, f"the answer is no list: {answer!r:.200}")
        return answer


def segment(name: str) -> str:
    """Return `name` as one segment of a path: an id with a slash reaches no other route."""
    return quote(name, safe="")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _decoded(method: str, url: str, status: int, body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BenchApiError(method, url, status, f"the answer is no JSON: {body[:200]!r}") from error


def _detail(body: bytes, reason: str) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body[:500].decode(errors="replace").strip() or reason
    detail = document.get("detail", document) if isinstance(document, dict) else document
    return detail if isinstance(detail, str) else json.dumps(detail)


def _variable(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _default_url() -> str:
    return LOCAL if os.environ.get("MESOCOSM_LOCAL", "").lower() in _TRUE else PRODUCTION


def _saved() -> dict[str, str]:
    """Return the saved login; one that cannot be read is none, because programs pass URL and token themselves."""
    place = os.environ.get(CREDENTIALS_VARIABLE) or "~/.config/swecc/bench_credentials.json"
    try:
        document = json.loads(Path(place).expanduser().read_bytes())
    except (OSError, ValueError, RuntimeError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {key: value for key, value in document.items() if isinstance(value, str)}
