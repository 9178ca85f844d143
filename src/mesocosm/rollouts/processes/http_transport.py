"""The connection to a server of a rollout that is not our own: the published protocol over HTTP.

The server answers by callbacks to a listener here; osmosis-ai since 0.3.3 is polled for its results instead.
"""

import asyncio
import hmac
import secrets
import shutil
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import BadResponse, ConnectFailed, ConnectionLost, HttpError, Timeout
from mesocosm.http.response import Response
from mesocosm.http.retry_after import retry_after
from mesocosm.proxy.server import ProxyReply, ProxyRequest, ProxyServer
from mesocosm.rollouts.executor import RowJob
from mesocosm.rollouts.processes.transport import Displaced, PendingResults
from mesocosm.rollouts.processes.wire import (
    CANCELLED,
    SUCCESS,
    CompletionReport,
    GradingReport,
    Replies,
    WireSample,
    encode_job,
)
from mesocosm.sandboxes.scratch import ScratchFolder, sweep

POST_S = 10.0
"""A server that takes longer to accept a row is blocked by other rows; this row has not begun."""

_ENDING_S = 0.5
_CANCEL_S = 1.0
_FIRST_WAIT, _SHORTEST_WAIT, _LONGEST_WAIT = 1.0, 0.05, 60.0

BEHIND = 64
"""Number of rows after which a trajectory is removed: servers write it after their last callback."""

_PATH = "/v1/rollouts/"
_REMEMBERED = 4096
"""Number of finished rows to remember. Their late callbacks are acknowledged, so that servers do not repeat them."""

_ENDS = {"completion": {"success", "failure", "cancelled"}, "grader": {"success", "failure"}}

HEADER = "X-Osmosis-Rollout-Lease"
FAILURE, GRADING = "failure", "grading"

_LATE_S = 10.0
"""Seconds to wait for an answer beyond the server's own long-poll time."""

_PAUSE_S = 0.1
_LOST = 50
"""Number of consecutive failed connections after which a live process counts as no longer listening."""

_BROKEN = frozenset({"lease_expired", "internal_error"})
"""Failure categories that are neither the workflow's nor the grader's fault."""

_GRADERS = (
    *("grader exceeded", "no sample to grade", "gradercontext has no sample"),
    "'nonetype' object has no attribute 'messages'",
)
"""Start of a grader's message if there is no sample; the last is `ctx.sample.messages` on None."""


class Callbacks:
    """Listens on loopback for callbacks. `notice` is called for a callback that contradicts an earlier one."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._server = ProxyServer(self._answer)
        self._secret = secrets.token_bytes(32)
        self._starting = asyncio.Lock()
        self._root = ""
        self._expected: dict[str, PendingResults] = {}
        self._over: deque[str] = deque(maxlen=_REMEMBERED)
        self._known: set[str] = set()
        self._keys: dict[str, str] = {}

    async def start(self) -> int:
        """Listen on a free port, if it does not yet, and return the port. Raises OSError."""
        async with self._starting:
            self._root = self._root or await self._server.start()
        return int(self._root.rpartition(":")[2])

    async def stop(self) -> None:
        """Stop listening."""
        await self._server.stop()

    def expect(self, name: str, key: str = "") -> PendingResults:
        """Accept the callbacks of row `name` from now on, authorised by `key` if given."""
        if key:
            self._keys[name] = key
        root = f"{self._root}{_PATH}{name}"
        expected = PendingResults(Replies(f"{root}/completion", f"{root}/grader", self._key(name)))
        self._expected[name] = expected
        return expected

    def forget(self, name: str) -> None:
        """Acknowledge and ignore further callbacks of row `name`."""
        if self._expected.pop(name, None) is None:
            return
        if len(self._over) == _REMEMBERED:
            self._known.discard(self._over[0])
            self._keys.pop(self._over[0], None)
        self._over.append(name)
        self._known.add(name)

    def _key(self, name: str) -> str:
        """Return the key of one row. It does not authorise callbacks of other rows."""
        return self._keys.get(name) or hmac.new(self._secret, name.encode("utf-8", "replace"), "sha256").hexdigest()

    async def _answer(self, request: ProxyRequest, reply: ProxyReply) -> None:
        status, words = self._take(request)
        await reply.send(status, msgspec.json.encode({"detail": words} if words else {}))

    def _take(self, request: ProxyRequest) -> tuple[int, str]:
        name, _, kind = request.path.removeprefix(_PATH).rpartition("/")
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._key(name)}".encode()):
            return 401, "this callback needs the controller_api_key of its try as bearer token"
        if not request.path.startswith(_PATH) or kind not in _ENDS:
            return 404, f"nothing is at {request.path}"
        if request.method != "POST":
            return 405, "callbacks are POSTed"
        expected = self._expected.get(name)
        if expected is None:
            return (200, "") if name in self._known else (404, f"no try is called {name!r}")
        body, of_workflow = request.body, kind == "completion"
        try:
            report = read_json(body, CompletionReport) if of_workflow else read_json(body, GradingReport)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            # It will not be sent again, so this ends the row.
            words = f"the server's {kind} callback cannot be read: {error}"
            expected.take(CompletionReport("failure", words) if of_workflow else GradingReport("failure", words))
            return 422, words
        if report.status not in _ENDS[kind]:
            return 422, f"status {report.status!r} does not end anything"
        if report.rollout_id not in {None, name}:
            return 422, f"the body is about another try than {name!r}"
        if not expected.take(report):
            self._notice(f"rollout: a second, different {kind} callback for {name} was ignored")
        return 200, ""


class ServerFiles:
    """Files that servers write: artifacts, which are kept, and trajectories, which are removed.

    They are in `folder`, a temporary one, or in the home directory. `prefix` begins the names of all rows, so that
    files of others are not touched.
    """

    def __init__(self, prefix: str, environment: Mapping[str, str]) -> None:
        sweep()
        self._scratch = ScratchFolder()
        self.folder = self._scratch.path
        self._prefix = prefix
        # Servers that do not know the variable for the folder write here.
        self._home = Path(environment.get("HOME") or Path.home()) / ".osmosis"
        self._over: deque[str] = deque()

    def keep(self, name: str, artifacts: Path) -> None:
        """Move the artifacts of a finished row to the folder that our own SDK uses directly."""
        for root in (self.folder, self._home):
            try:
                files = list((root / name / "artifacts").iterdir())
            except OSError:
                continue
            if files:
                artifacts.mkdir(parents=True, exist_ok=True)
            for file in files:
                with suppress(OSError):
                    shutil.move(file, artifacts / file.name)
        self._over.append(name)
        if len(self._over) > BEHIND:
            eldest = self._over.popleft()
            for root in (self.folder, self._home):
                shutil.rmtree(root / eldest, ignore_errors=True)

    def clear(self) -> None:
        """Remove all files."""
        self._scratch.remove()
        with suppress(OSError):
            for left in self._home.glob(f"{self._prefix}*"):
                shutil.rmtree(left, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Lease:
    """How to poll for the result of an accepted row; a server that sends no token sends callbacks."""

    polling_lease_token: str = field(default="", repr=False)
    result_wait_timeout_sec: float = 30.0


class PolledResult(msgspec.Struct, frozen=True):
    """The answer to a poll: the progress of the row, or its result."""

    status: str
    sample: WireSample | None = None
    err_message: str | None = None
    err_category: str | None = None


def lease_of(response: Response) -> Lease | None:
    """Return how to poll for an accepted row, or None if the server sends callbacks."""
    try:
        lease = read_json(response.body, Lease)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return lease if lease.polling_lease_token else None


class HttpTransport:
    """A process that serves the published protocol at `url`. Implements RowTransport.

    Without `files`, the artifacts of rows are kept elsewhere.
    """

    punctual = False
    shareable = False

    def __init__(self, url: str, key: str, client: HttpClient, callbacks: Callbacks, files: ServerFiles | None) -> None:
        self.capacity: int | None = None
        self.url = url
        self._key = key
        self._client = client
        self._callbacks = callbacks
        self._files = files
        self._artifacts: dict[str, Path] = {}
        self._polls: dict[str, asyncio.Task[None]] = {}

    def expect(self, job: RowJob, name: str) -> PendingResults:
        """Return the pending results of a row that will be sent as `name`."""
        self._artifacts[name] = job.artifacts
        # Releases of the package up to 0.3.1 use one key for the controller and the model.
        return self._callbacks.expect(name, job.model.api_key)

    async def send(self, job: RowJob, name: str, results: PendingResults) -> float:
        """Send a row until the server has room for it. Raises Displaced, EpisodeError."""
        body = encode_job(job, name, results.replies)
        loop = asyncio.get_running_loop()
        began, refused = loop.time(), 0.0
        while True:
            response = await self._posted(body)
            if response.status != 429:
                break
            seconds = retry_after(response.headers.get)
            await asyncio.sleep(_FIRST_WAIT if seconds is None else min(max(seconds, _SHORTEST_WAIT), _LONGEST_WAIT))
            refused = loop.time() - began
            if refused > (job.workflow_seconds or float("inf")):
                raise _broken(f"had no room for this row within {refused:.0f} s (429)")
        if not 200 <= response.status < 300:
            raise _broken(f"refused this row with status {response.status}: {_start(response)}")
        lease = lease_of(response)
        if lease is not None:
            self._polls[name] = asyncio.create_task(self._poll(name, lease, results))
        return refused

    async def cancel(self, name: str) -> bool:
        """Request that the server cancel a row; return False if the row continues."""
        with suppress(HttpError, AttributeError):
            response = await self._post("/rollout/cancel", msgspec.json.encode({"ids": [name]}), _CANCEL_S)
            dispositions = response.json().get("dispositions") or {}
            return str(dispositions.get(name)).startswith("cancelled")
        return False

    async def probe(self, seconds: float) -> bool:
        """Return whether the server answers at all within `seconds`."""
        try:
            await self._client.request("GET", f"{self.url}/health", timeout=seconds)
        except BadResponse:
            return True
        except HttpError:
            return False
        return True

    def forget(self, name: str) -> None:
        """Remove a row that has ended, and keep its artifacts."""
        artifacts = self._artifacts.pop(name)
        if self._files is not None:
            self._files.keep(name, artifacts)
        task = self._polls.pop(name, None)
        if task is not None:
            task.cancel()
        self._callbacks.forget(name)

    def close(self) -> None:
        """Stop polling for results."""
        for task in self._polls.values():
            task.cancel()

    async def _post(self, path: str, body: bytes, seconds: float) -> Response:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        return await self._client.request(
            "POST", self.url + path, headers=headers, body=body, timeout=seconds, resend=False
        )

    async def _posted(self, body: bytes) -> Response:
        """Send a row once. Raises Displaced, EpisodeError."""
        try:
            return await self._post("/rollout", body, POST_S)
        except (ConnectFailed, ConnectionLost) as error:
            # A process that ends closes its connections; its exit is noticed a moment later, and takes precedence.
            await asyncio.sleep(_ENDING_S)
            raise Displaced(str(error), harmed=False) from error
        except Timeout as error:
            raise Displaced(f"a server did not take a row within {POST_S:g} s") from error
        except HttpError as error:
            raise _broken(f"answered POST /rollout with something else than HTTP: {error}") from error

    async def _poll(self, name: str, lease: Lease, results: PendingResults) -> None:
        """Poll until the result of a row is available, and set it as callbacks would."""
        status = ""
        try:
            while True:
                result = await self._polled(name, lease)
                if _heed(result, results):
                    return
                if result.status == status:
                    # Pause before the next poll if the server answers at once instead of waiting.
                    await asyncio.sleep(_PAUSE_S)
                status = result.status
        except EpisodeError as error:
            results.fail(error)

    async def _polled(self, name: str, lease: Lease) -> PolledResult:
        """Return the next answer about a row. Raises EpisodeError if there will be none."""
        url, seconds = f"{self.url}/rollout/{quote(name, safe='')}/result", lease.result_wait_timeout_sec + _LATE_S
        headers = {"Authorization": f"Bearer {self._key}", HEADER: lease.polling_lease_token}
        lost = 0
        while True:
            try:
                response = await self._client.request("GET", url, headers=headers, timeout=seconds)
                break
            except Timeout:
                # Its event loop is blocked; the check for blocking rows finds the row responsible.
                continue
            except (ConnectFailed, ConnectionLost) as error:
                lost += 1
                if lost >= _LOST:
                    raise _broken(f"could not be asked for the result of this row: {error}") from error
                await asyncio.sleep(_PAUSE_S)
            except HttpError as error:
                raise _broken(f"answered with something else than HTTP when asked for a result: {error}") from error
        if response.status != 200:
            raise _broken(f"answered with status {response.status} when asked for a result: {_start(response)}")
        try:
            return read_json(response.body, PolledResult)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _broken(f"sent a result that cannot be read: {error}") from error


def _heed(result: PolledResult, results: PendingResults) -> bool:
    """Set the results that are known; return whether they are complete. Raises EpisodeError."""
    if result.status == GRADING:
        results.take(CompletionReport(SUCCESS))
    if result.status not in {SUCCESS, FAILURE, CANCELLED}:
        return False
    if result.err_category in _BROKEN:
        raise _broken(f"says that {result.err_message or result.err_category}")
    of_workflow = result.status == CANCELLED or (result.status == FAILURE and not _of_grader(result))
    if of_workflow and not results.completion.done():
        results.take(CompletionReport(result.status, result.err_message, result.err_category))
    else:
        results.take(CompletionReport(SUCCESS))
        status = result.status if result.status == SUCCESS else FAILURE
        results.take(GradingReport(status, result.err_message, result.err_category, result.sample))
    return True


def _of_grader(result: PolledResult) -> bool:
    """Return whether the grader failed: only then is there a sample, or a message that there is none to grade."""
    if result.sample is not None or not (result.err_message or result.err_category):
        return True
    return (result.err_message or "").lower().startswith(_GRADERS)


def _start(response: Response) -> str:
    return response.body[:500].decode("utf-8", "replace")


def _broken(words: str) -> EpisodeError:
    return EpisodeError(Cause.ROLLOUT_FAILED, f"the server {words}")
