"""HTTP transport on the standard library, so that programs that only register a domain need no other package."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import Message
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlencode

from mesocosm.client.error import ApiError, hint_for
from mesocosm.client.identity import Identity, identify
from mesocosm.client.urls import opener_for, without_credentials

BenchApiError = ApiError
"""Alias for older programs."""
AUTH_HEADER = "X-Mesocosm-Auth"
NOT_A_SERVER = "is that the complete URL of a server? It may need a path such as /bench"
ERROR_BYTES = 65_536
CHUNK = 1 << 18
FIRST_S, LATER_S = 0.1, 1.0
"""Seconds between polls, at first and later, so that what is quickly done is quickly noticed."""

T = TypeVar("T")

Query = Mapping[str, str | int | float | bool | Sequence[str] | None]


def pauses(longest: float = LATER_S) -> Iterator[float]:
    """Yield the seconds between polls: short at first, then `longest`."""
    pause = min(FIRST_S, longest)
    while True:
        yield pause
        pause = min(pause * 1.5, longest)


class BenchApi:
    """One server and one identity. Calls block, use one connection each, and follow no redirects.

    URL and token are the given ones, otherwise those of the environment or the saved login (see `identity.identify`).
    When a saved login has expired, it is renewed and the request is repeated.
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 120.0,
        identity: Identity | None = None,
    ) -> None:
        self.identity = identity or identify(base_url, token)
        self.base_url = self.identity.base_url
        self.timeout = timeout
        self._opener = opener_for(self.base_url, _NoRedirects())

    @property
    def token(self) -> str:
        """The current token; empty without a login."""
        return self.identity.token

    def call(self, method: str, path: str, body: object = None, query: Query | None = None) -> Any:
        """Return the JSON body of the response, None if it has no body; bytes are sent as they are. Raises ApiError."""
        url = self._url(path, query)
        return self._asked(method, url, body, lambda answer: _decoded(method, url, answer.status, answer.read()))

    def download(self, path: str, file: IO[bytes], query: Query | None = None, *, start: int = 0) -> int:
        """Stream the response to a GET into `file`, from the byte `start` on; return its size. Raises ApiError."""
        url = self._url(path, query)
        headers = {"Range": f"bytes={start}-"} if start else {}

        def kept(answer: http.client.HTTPResponse) -> int:
            if start and answer.status != 206:
                raise ApiError("GET", url, answer.status, "the server does not continue downloads")
            size = 0
            while piece := answer.read(CHUNK):
                file.write(piece)
                size += len(piece)
            if answer.length:
                raise ApiError("GET", url, 0, f"the answer broke off {answer.length} bytes before its end")
            return size

        return self._asked("GET", url, None, kept, headers)

    def record(self, method: str, path: str, body: object = None, query: Query | None = None) -> dict[str, Any]:
        """Return the JSON object in the response, empty if it has no body. Raises ApiError."""
        answer = self.call(method, path, body, query)
        if answer is not None and not isinstance(answer, dict):
            raise ApiError(method, self.base_url + path, 200, f"the answer is not an object: {answer!r:.200}")
        return answer or {}

    def records(self, path: str, query: Query | None = None) -> list[dict[str, Any]]:
        """Return the list of JSON objects at `path`. Raises ApiError."""
        answer = self.call("GET", path, query=query)
        if not isinstance(answer, list):
            raise ApiError("GET", self.base_url + path, 200, f"the answer is not a list: {answer!r:.200}")
        return answer

    def _url(self, path: str, query: Query | None) -> str:
        given = {key: _word(value) for key, value in (query or {}).items() if value is not None}
        return self.base_url + path + (f"?{urlencode(given, doseq=True)}" if given else "")

    def _asked(
        self,
        method: str,
        url: str,
        body: object,
        read: Callable[[http.client.HTTPResponse], T],
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Return `read(response)`; if the login was rejected, renew it and repeat the request once."""
        for again in (True, False):
            try:
                with self._opener.open(self._request(method, url, body, headers), timeout=self.timeout) as answer:
                    if again and _unknown(answer.headers) and self.identity.renew():
                        continue
                    return read(answer)
            except urllib.error.HTTPError as error:
                with error:
                    if again and _unknown(error.headers) and self.identity.renew():
                        continue
                    raise self._refused(method, url, error) from None
            except urllib.error.URLError as error:
                kind = type(error.reason).__name__
                raise ApiError(method, without_credentials(url), 0, str(error.reason), kind=kind) from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                kind = type(error).__name__
                raise ApiError(method, without_credentials(url), 0, str(error) or kind, kind=kind) from error
        raise AssertionError("the second time is the last")

    def _request(
        self, method: str, url: str, body: object, more: Mapping[str, str] | None = None
    ) -> urllib.request.Request:
        headers = {"Accept": "application/json", **(more or {}), **self.identity.header()}
        if method != "GET":
            # No form of a foreign page can send this; without a token, a server refuses changes without it.
            headers["X-Mesocosm"] = "1"
        data = None
        if body is not None:
            raw = isinstance(body, bytes)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers["Content-Type"] = "application/octet-stream" if raw else "application/json"
        return urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310 - checked before

    def _refused(self, method: str, url: str, error: urllib.error.HTTPError) -> ApiError:
        wait = error.headers.get("Retry-After") or ""
        auth = error.headers.get(AUTH_HEADER) or ""
        body = error.read(ERROR_BYTES)
        detail, told = _detail(body, error.reason), _told(body, error.reason)
        untold = "" if f"in {wait} s" in detail else wait
        return ApiError(
            method,
            without_credentials(url),
            error.code,
            detail,
            hint=hint_for(
                error.code, auth=auth, retry_after=untold, logged_in=bool(self.token), variable=self.identity.variable
            ),
            retry_after=float(wait) if wait.isdecimal() else None,
            told=told,
        )


def segment(name: str) -> str:
    """Return `name` quoted as one path segment, so that an id with a slash cannot reach another route."""
    return quote(name, safe="")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuse redirects: they would send the token to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _unknown(headers: Message) -> bool:
    return bool(headers.get(AUTH_HEADER))


def _word(value: str | float | bool | Sequence[str]) -> str | list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decoded(method: str, url: str, status: int, body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError(method, url, status, f"the answer is not JSON: {body[:200]!r}", hint=NOT_A_SERVER) from error


def _detail(body: bytes, reason: str) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body[:500].decode(errors="replace").strip() or reason
    detail = document.get("detail", document) if isinstance(document, dict) else document
    if isinstance(detail, list):
        return "; ".join(_problem(item) for item in detail) or reason
    if isinstance(detail, dict) and isinstance(detail.get("message"), str):
        return str(detail["message"])
    return detail if isinstance(detail, str) else json.dumps(detail)


def _told(body: bytes, reason: str) -> bool:
    """Return whether an answer says in words what is wrong, more than the name of its status."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return False
    detail = document.get("detail") if isinstance(document, dict) else None
    if isinstance(detail, dict):
        detail = detail.get("message")
    return isinstance(detail, str) and detail.strip().lower() not in ("", reason.lower())


def _problem(item: object) -> str:
    """Return a validation problem as text: location and message."""
    if not isinstance(item, dict) or "msg" not in item:
        return json.dumps(item)
    place = ".".join(str(part) for part in item.get("loc", ()) if part != "body")
    return f"{place}: {item['msg']}" if place else str(item["msg"])
