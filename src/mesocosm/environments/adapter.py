"""The server of an environment: an already running one, or one started from the manifest and kept alive."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.environments.client import Host
from mesocosm.environments.identity import named_by_health, served_class
from mesocosm.environments.launch import Launched, ServerPlace, launch
from mesocosm.environments.manifest import Manifest
from mesocosm.environments.restarts import Restarts
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.http.target import visible
from mesocosm.models.endpoint import is_loopback

PROBE_S = 5.0


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """Where to look for a server and how to start one.

    `env_url` is tried first, unless it is empty; `explicit` means that the user gave it. `python` is the interpreter of
    the adapter, `start_timeout` the seconds that it has to respond.
    """

    env_url: str = ""
    explicit: bool = False
    python: str = ""
    start_timeout: float = 30.0


class RunningServer:
    """A server that this process did not start. Implements environments.client.Host.

    Its process is unknown; `doubted` means that a connection to it failed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.doubted = False

    def stderr(self) -> str:
        """Return "", because its output is not available."""
        return ""

    async def exited(self) -> str:
        """Return "", but mark the server as doubted, because this is called after a failed connection."""
        self.doubted = True
        return ""


class Adapter:
    """The server of one environment for all episodes of a run.

    `open` finds or starts it, `host` returns it for an episode. If a server started here has exited, it is restarted
    for the next episode; for any other server, `host` checks whether it responds again. `oracle` is whether the server
    reports an oracle. If `content` is given, the server is started only while the files are unchanged.
    """

    def __init__(
        self,
        manifest: Manifest,
        settings: AdapterSettings,
        client: HttpClient,
        place: ServerPlace,
        content: Content | None = None,
    ) -> None:
        self.oracle = False
        self._content = content
        self._manifest = manifest
        self._settings = settings
        self._client = client
        self._place = place
        self._notice: Callable[[str], None] = lambda _: None
        self._host: RunningServer | Launched | None = None
        self._lock = asyncio.Lock()
        self._tries = 0
        self._lost: EpisodeError | None = None
        self._restarts = Restarts("adapter")

    async def open(self, notice: Callable[[str], None]) -> None:
        """Use the server at `env_url` if it responds and is not another environment, otherwise start the adapter.

        Raise UsageError if an explicit server is another environment, or does not respond and is on another machine,
        and if there is neither a responding server nor an adapter in the manifest; RunAborted if the adapter cannot be
        started.
        """
        self._notice = notice
        self._host = await self._found() or await self._started()

    @property
    def found(self) -> str:
        """The address of a server that was already running, "" for one that was started here."""
        return _shown(self._host.url) if isinstance(self._host, RunningServer) else ""

    async def host(self) -> Host:
        """Return a server that is running as far as is known.

        Raise EpisodeError (environment_unreachable) if there is none at the moment; RunAborted if the adapter is not
        open, or exited so often that it is not restarted.
        """
        while True:
            host, tries = self._host, self._tries
            if host is None:
                raise RunAborted(f"environment {self._manifest.id!r} was not opened, or is closed")
            if not _doubtful(host):
                return host
            async with self._lock:
                if self._host is not host:
                    continue
                if self._lost is not None and self._tries != tries:
                    # Another episode has tried in the meantime.
                    raise self._lost
                await self._replaced(host)

    async def _replaced(self, host: RunningServer | Launched) -> None:
        self._tries, self._lost = self._tries + 1, None
        try:
            self._host = await (
                self._restarts.again(host, self._started, self._notice)
                if isinstance(host, Launched)
                else self._returned(host)
            )
        except EpisodeError as error:
            self._lost = error
            raise

    async def close(self) -> None:
        """Stop the process tree that was started here; a server that was already running is left alone."""
        async with self._lock:
            host, self._host = self._host, None
        if isinstance(host, Launched):
            await host.process.stop()

    async def _found(self) -> RunningServer | None:
        url = self._settings.env_url.rstrip("/")
        if not url:
            return None
        answer = await self._health(url)
        if self._manifest.adapter is None and not named_by_health(answer) and await self._serves_models(url):
            raise UsageError(
                f"{_shown(url)} is a model server (it answers GET /v1/models), not an environment; name the URL of the "
                f"environment, and the model as openai/NAME@{_shown(url).removesuffix('/v1')}/v1"
            )
        if answer is None:
            if self._manifest.adapter is None:
                raise UsageError(
                    f"no environment answers GET {_shown(url)}/health with status 200; start "
                    + ("it there" if self._manifest.id == url else f"that of domain {self._manifest.id!r} there")
                )
            if self._settings.explicit and not is_loopback(url):
                raise UsageError(
                    f"no environment answers GET {_shown(url)}/health with status 200; start it there, "
                    "or leave the URL away to start the manifest's adapter on this machine"
                )
            if self._settings.explicit:
                self._notice(f"no environment answers at {_shown(url)}, so the manifest's adapter is started")
            return None
        adapter = self._manifest.adapter
        name, expected = named_by_health(answer), served_class(adapter) if adapter else ""
        if name and expected and name != expected:
            other = f"environment {name} answers at {_shown(url)}, but {self._manifest.path} is about {expected}"
            if self._settings.explicit:
                raise UsageError(f"{other}; stop it, or name the URL of the right one")
            self._notice(f"{other}; the manifest's adapter is started beside it")
            return None
        self._heard(answer)
        self._notice(f"using the environment that answers at {_shown(url)}: {name or 'it does not say which'}")
        return RunningServer(url)

    async def _started(self) -> Launched:
        adapter = self._manifest.adapter
        if adapter is None:
            raise UsageError(f"nothing says where the environment of domain {self._manifest.id!r} is; give `env_url`")
        await self._unchanged()
        launched = await launch(
            adapter,
            self._place,
            self._client,
            python=self._settings.python,
            seconds=self._settings.start_timeout,
        )
        try:
            await self._unchanged()
        except BaseException:
            await launched.process.stop()
            raise
        self._heard(await self._health(launched.url))
        self._notice(f"started {adapter.name} at {launched.url} (process {launched.process.pid})")
        return launched

    async def _unchanged(self) -> None:
        if self._content is not None:
            await self._content.check()

    async def _returned(self, gone: RunningServer) -> RunningServer:
        """Return a server that was not started here if it responds again, otherwise raise EpisodeError."""
        if await self._health(gone.url) is None:
            raise EpisodeError(
                Cause.ENVIRONMENT_UNREACHABLE,
                f"nothing answers GET {_shown(gone.url)}/health with status 200; start the environment there again",
            )
        return RunningServer(gone.url)

    def _heard(self, answer: Any) -> None:
        self.oracle = isinstance(answer, dict) and answer.get("oracle") is True

    async def _serves_models(self, url: str) -> bool:
        """Return whether a server answers as those with an OpenAI-compatible API do."""
        try:
            response = await self._client.request("GET", f"{url.removesuffix('/v1')}/v1/models", timeout=PROBE_S)
            found = read_json(response.body)
        except (HttpError, ValueError, RecursionError):
            return False
        # A refused key is an answer of a model server, too.
        refused = response.status in {401, 403} and isinstance(found, dict) and "error" in found
        return refused or (response.status == 200 and isinstance(found, dict) and isinstance(found.get("data"), list))

    async def _health(self, url: str) -> Any:
        """Return the response to GET /health, {} if it is not JSON, None if no healthy server responds."""
        try:
            response = await self._client.request("GET", f"{url}/health", timeout=PROBE_S)
        except HttpError:
            return None
        if response.status != 200:
            return None
        try:
            return read_json(response.body) or {}
        except (ValueError, RecursionError):
            return {}


def _shown(url: str) -> str:
    return visible(url).rstrip("/")


def _doubtful(host: RunningServer | Launched) -> bool:
    return host.doubted if isinstance(host, RunningServer) else host.process.returncode is not None
