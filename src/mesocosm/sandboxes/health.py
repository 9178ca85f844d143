"""Wait until a started server answers."""

import asyncio

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectFailed, HttpError
from mesocosm.http.target import visible
from mesocosm.sandboxes.process import ForeignProcess

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.1
_LOOK_SECONDS = 5.0
_TAIL_LINES = 20


async def wait_healthy(
    url: str,
    process: ForeignProcess,
    timeout: float = 30.0,  # noqa: ASYNC109 -- the error must report what was seen until then
    *,
    client: HttpClient | None = None,
) -> None:
    """Return once GET `url` answers with a 2xx status.

    Polls often at first, then ten times a second, for `timeout` seconds, and notices at once when the process ends.
    Raises EpisodeError with cause sandbox_failed and the tail of its output. The process is not stopped; do that
    yourself.
    """
    if client is None:
        async with HttpClient() as own:
            await wait_healthy(url, process, timeout, client=own)
        return
    looks = _Looks(client, url)
    ended = asyncio.ensure_future(process.wait())
    look = asyncio.ensure_future(looks.until_healthy())
    try:
        await asyncio.wait({look, ended}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            raise EpisodeError(
                Cause.SANDBOX_FAILED,
                f"the process ended with {_ending(ended.result())} before {visible(url)} answered{_words(process)}",
                stderr=process.stderr_tail(_TAIL_LINES),
            )
        if not look.done():
            raise EpisodeError(
                Cause.SANDBOX_FAILED,
                f"{visible(url)} was not healthy within {timeout:g} s: {looks.seen}{_words(process)}",
                stderr=process.stderr_tail(_TAIL_LINES),
            )
        look.result()
    finally:
        ended.cancel()
        look.cancel()
        await asyncio.gather(ended, look, return_exceptions=True)


class _Looks:
    """Polls one URL and stores the result of the last request."""

    def __init__(self, client: HttpClient, url: str) -> None:
        self._client = client
        self._url = url
        self.seen = "no answer yet"

    async def until_healthy(self) -> None:
        pause = _FIRST_PAUSE
        while not await self._healthy():
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    async def _healthy(self) -> bool:
        try:
            response = await self._client.request("GET", self._url, timeout=_LOOK_SECONDS)
        except ConnectFailed as error:
            self.seen = f"nothing listens there ({error.cause}); does the program take its port from --port?"
        except HttpError as error:
            self.seen = f"it listens, but: {error.cause}"
        else:
            text = response.body[:200].decode("utf-8", "replace")
            self.seen = f"it answers with status {response.status}: {text!r}"
            return 200 <= response.status < 300
        return False


def _ending(code: int) -> str:
    if code < 0:
        return f"signal {-code}"
    # argparse and similar libraries exit with 2 for unknown arguments.
    return f"exit code {code}" + (" (does it accept the argument --port?)" if code == 2 else "")


def _words(process: ForeignProcess) -> str:
    tail = process.stderr_tail(_TAIL_LINES) or process.stdout_tail(_TAIL_LINES)
    return (
        "; its last words:\n" + "\n".join(f"  | {line}" for line in tail.splitlines()) if tail else "; it said nothing"
    )
