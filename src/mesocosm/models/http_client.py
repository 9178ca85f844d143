"""HTTP with a model server: one pooled client for one address, with failures raised as EpisodeError."""

import socket
import ssl
from collections.abc import Callable, Mapping

import mesocosm
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed, ConnectionLost, HttpError, InvalidRequest, ProxyFailed, Timeout
from mesocosm.http.response import Response
from mesocosm.models.endpoint import without_credentials
from mesocosm.models.refusal import RefusalContext, Words, words

CHECK_S = 10.0
"""Timeout in seconds of a check before a run."""
MAX_ANSWER = 10 * 1024 * 1024
"""Maximum size in bytes of a decompressed answer; core.foreign limits how much of it is parsed."""


class ModelHttpClient:
    """The connection to one model server. Each message starts with `subject` (provider/model) and the printable URL.

    `headers` are sent with each request. The key is sent as a bearer token, or as it is in `key_header`.
    """

    def __init__(
        self,
        subject: str,
        base_url: str,
        key: str = "",
        *,
        start: str = "check that it runs",
        key_header: str = "",
        headers: Mapping[str, str] = {},
    ) -> None:
        self.subject = subject
        self.base_url = base_url
        self._key = key
        self._start = start
        self._client = HttpClient(max_response=MAX_ANSWER)
        self._headers = {"content-type": "application/json", "user-agent": f"mesocosm/{mesocosm.__version__}"}
        self._headers |= headers
        if key:
            self._headers |= {key_header: key} if key_header else {"authorization": f"Bearer {key}"}

    async def post(self, path: str, body: bytes, timeout_s: float) -> Response:
        """Return the response to a POST. Raises EpisodeError if there is none."""
        return await self._request("POST", path, body, timeout_s)

    async def get(self, path: str, timeout_s: float) -> Response:
        """Return the response to a GET. Raises EpisodeError if there is none."""
        return await self._request("GET", path, None, timeout_s)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _request(self, method: str, path: str, body: bytes | None, timeout_s: float) -> Response:
        url = self.base_url + path
        try:
            return await self._client.request(method, url, headers=self._headers, body=body, timeout=timeout_s)
        except HttpError as error:
            raise self._failure(error, without_credentials(url), timeout_s) from error

    def _failure(self, error: HttpError, url: str, timeout_s: float) -> EpisodeError:
        if isinstance(error, ConnectFailed) or (isinstance(error, Timeout) and error.phase == "connect"):
            said = _connection(error, url, self._start)
            return EpisodeError(Cause.MODEL_UNAVAILABLE, f"{self.subject}: {said}")
        if isinstance(error, Timeout):
            return EpisodeError(
                Cause.MODEL_TIMEOUT,
                f"{self.subject}: {url} gave no answer within {timeout_s:g} s; allow more time for a call, or fewer "
                "episodes at once",
            )
        if isinstance(error, ConnectionLost):
            return EpisodeError(
                Cause.MODEL_UNAVAILABLE, f"{self.subject}: {url}: {error.cause}; the log of the server may say why"
            )
        if isinstance(error, InvalidRequest):
            return EpisodeError(
                Cause.MODEL_REJECTED, f"{self.subject}: {url}: {error.cause}; check the base URL and key"
            )
        return EpisodeError(
            Cause.MODEL_INVALID,
            f"{self.subject}: {url}: {error.cause}; check that this is the address of a model server",
        )

    def refusal(
        self, path: str, response: Response, max_tokens: int, *, variables: tuple[str, ...] = (), missing: str = ""
    ) -> EpisodeError:
        """Return the error for a response with a status other than 200."""
        said = self.words(response)
        url = without_credentials(self.base_url + path)
        header: Callable[[str], str | None] = response.headers.get
        return RefusalContext(self.subject, url, response.status, said, header, max_tokens, variables, missing).error()

    def words(self, response: Response) -> Words:
        """Return the server's error text, with our key redacted."""
        said = words(response.body)
        if not self._key:
            return said
        return Words(said.message.replace(self._key, "[key]"), said.code, said.param)

    def invalid(self, path: str, body: bytes, what: str) -> EpisodeError:
        """Return the error for a response with status 200 that is not a valid answer."""
        excerpt = body[:200].decode("utf-8", "replace") or "nothing"
        return EpisodeError(
            Cause.MODEL_INVALID,
            f"{self.subject}: {without_credentials(self.base_url + path)} answered 200 "
            f"but {what}: {excerpt!r}; check that this is "
            "the address of a model server",
            detail=body[:5000].decode("utf-8", "replace"),
        )


def _connection(error: HttpError, url: str, start: str) -> str:
    """Return why there is no connection, with a remedy that fits the cause."""
    failed = error.__cause__
    if isinstance(failed, ssl.SSLError):
        return f"there is no connection to {url}: {error.cause}"
    if isinstance(failed, socket.gaierror):
        return f"there is no connection to {url}: {error.cause}; check the address, and the network of this machine"
    if isinstance(error, ProxyFailed):
        return f"there is no connection to {url}: {error.cause}; check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"
    return f"nothing answers at {url} ({error.cause}); {start}"
