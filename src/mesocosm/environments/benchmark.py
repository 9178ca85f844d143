"""Environments with manifests as benchmarks: kind `environment`."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import RunAborted, UsageError
from mesocosm.core.folder import from_home
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.inherited import passed
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Score
from mesocosm.core.secret import without_secrets
from mesocosm.core.space import Space
from mesocosm.core.task import Task
from mesocosm.environments.adapter import Adapter, AdapterSettings
from mesocosm.environments.client import HttpEnvironment, Timeouts
from mesocosm.environments.contract import Contract
from mesocosm.environments.launch import ServerPlace
from mesocosm.environments.manifest import (
    Manifest,
    content_digest,
    content_files,
    load_manifest,
    served_manifest,
    watched_content,
)
from mesocosm.environments.scoring import episode_scores
from mesocosm.environments.seeds import seed_count, seed_tasks
from mesocosm.http.client import HttpClient
from mesocosm.http.target import target, visible
from mesocosm.sandboxes.plain import PlainSandbox

IDLE_S = 4.0
"""Idle connections are closed before common servers close them (5 s in uvicorn and Node.js).

A request on a connection that the server is closing is lost, and a step must not be sent twice.
"""
MAX_ANSWER = 10 * 1024 * 1024
"""Maximum bytes of one response; a larger observation is a mistake (see also MOST_WORK in core.foreign)."""


Seconds = Annotated[float, msgspec.Meta(gt=0)]


class EnvironmentOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `environment`; none of them is part of a run's identity.

    `env_url` is a server to use if it responds; `explicit_env_url` is False if the user did not choose it, so that
    another environment there is ignored. Otherwise the manifest's adapter is started with `python` (default: this
    interpreter) and has `start_timeout` seconds to respond. `step_timeout` and `reset_timeout` (default: the same)
    limit one call, in seconds. `domain_id` replaces the manifest's id. `domain` is the manifest itself, without an
    adapter: no file is read, and a server must respond at `env_url`. `pass_env` names the variables with credentials
    that the adapter receives; other variables that look like credentials are withheld. `literal` reads responses as the
    original program did; it is used with a profile of the agent, which is part of the identity.
    """

    env_url: str = ""
    explicit_env_url: bool = True
    domain_id: str | None = None
    domain: dict[str, Any] | None = None
    python: str = ""
    start_timeout: Seconds = 30.0
    step_timeout: Seconds = 60.0
    reset_timeout: Seconds | None = None
    pass_env: tuple[str, ...] = ()
    literal: bool = False


def open_environment(ref: BenchmarkRef) -> "EnvironmentBenchmark":
    """Return the benchmark of a manifest; `ref.source` is the file, or the directory of an environment.

    With the option `domain` the source is only a name. If the source is a URL, the environment is served there: its
    contract is the option `domain`, or one that allows everything. Raise UsageError for an unknown or invalid option
    and for a missing manifest, InvalidInput for a manifest that breaks the rules.
    """
    try:
        options = msgspec.convert(ref.options, EnvironmentOptions)
    except msgspec.ValidationError as error:
        known = ", ".join(EnvironmentOptions.__struct_fields__)
        raise UsageError(f"options of benchmark kind 'environment': {error}; known: {known}") from error
    if is_served(ref.source):
        return _served(ref.source, options)
    _check_url(options.env_url)
    return EnvironmentBenchmark(_manifest(ref.source, options), options)


def is_served(source: str) -> bool:
    """Return whether the source of an environment is the URL of its server."""
    return source.startswith(("http://", "https://"))


def _served(url: str, options: EnvironmentOptions) -> "EnvironmentBenchmark":
    """Return the benchmark of the server at `url`; its name and its digest are told apart by this address."""
    _check_url(url)
    address = target(url)
    if address.authorization or "?" in address.path:
        raise UsageError(
            f"the URL {visible(url)} of an environment holds a user or a query, which would be stored with the "
            "results; write only http://HOST:PORT/PATH"
        )
    base = address.url.rstrip("/")
    name = base.partition("://")[2]
    document = options.domain if options.domain is not None else {**_UNDECLARED, "name": name}
    manifest = served_manifest(base, document, domain_id=options.domain_id)
    return EnvironmentBenchmark(manifest, msgspec.structs.replace(options, env_url=base), address=base)


_UNDECLARED: dict[str, Any] = {
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "description": "",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "scalar"},
        "episode": {"malformed_actions": "pass"},
    },
    "scoring": {
        "primary_metric": "mean_reward",
        "metrics": [{"name": "mean_reward", "type": "episode_reward", "aggregation": "mean"}],
    },
}
"""The contract of a server that declares none: any observation, any text as action, the mean reward."""


def _place(declared: Sequence[str]) -> PlainSandbox:
    return PlainSandbox(environment=without_secrets(os.environ) | passed(os.environ, declared))


def _manifest(source: str, options: EnvironmentOptions) -> Manifest:
    if options.domain is not None:
        return served_manifest(source, options.domain, domain_id=options.domain_id)
    return load_manifest(from_home(source), domain_id=options.domain_id)


def _check_url(url: str) -> None:
    try:
        target(url or "http://localhost")
    except ValueError as error:
        raise UsageError(
            f"the URL of the environment cannot be used: {error}; write for example http://localhost:8765"
        ) from error


class EnvironmentBenchmark:
    """An environment with the adapter protocol and seeds as tasks. Implements core.ports.Benchmark.

    `place` is where the adapter runs, by default directly on this machine. `address` is that of a server which is
    itself what is evaluated, so that it is part of the identity.
    """

    def __init__(
        self,
        manifest: Manifest,
        options: EnvironmentOptions,
        place: ServerPlace | None = None,
        *,
        address: str = "",
    ) -> None:
        self.manifest = manifest
        self._options = options
        self._place = place
        self._contract = Contract(manifest.vow.observation_space, manifest.vow.action_space)
        self._timeouts = Timeouts(options.reset_timeout or options.step_timeout, options.step_timeout)
        files = content_files(manifest)
        self._content = watched_content(manifest, files) if manifest.adapter is not None else None
        self._info = _info(manifest, files)
        self._address = address
        if address:
            # Its code is unknown, so another address is another environment.
            self._info = msgspec.structs.replace(self._info, digest=digest([self._info.digest, address]))
        if options.literal:
            # The original program ran as many episodes at once as the user requested.
            self._info = msgspec.structs.replace(self._info, parallel=None, parallel_default=None)
        self._client: HttpClient | None = None
        self._adapter: Adapter | None = None

    @property
    def info(self) -> BenchmarkInfo:
        """Facts from the manifest; `oracle` is known once the benchmark is open."""
        return self._info

    @property
    def action_space(self) -> Space:
        """The declared space of actions."""
        return self.manifest.vow.action_space

    @property
    def observation_space(self) -> Space:
        """The declared space of observations."""
        return self.manifest.vow.observation_space

    def count(self, selection: Selection) -> int:
        """Return the number of seeds that `selection` selects."""
        return seed_count(selection)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield a task for each seed."""
        return seed_tasks(selection)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Find the server or start the adapter. Raise UsageError, RunAborted."""
        if self.manifest.warnings:
            notice(
                f"{self.manifest.path.name}: {self.manifest.warnings[0]} "
                f"({len(self.manifest.warnings)} in all; `mesocosm validate` lists them)"
            )
        self._client = HttpClient(idle_timeout=IDLE_S, max_response=MAX_ANSWER)
        settings = AdapterSettings(
            self._options.env_url, self._options.explicit_env_url, self._options.python, self._options.start_timeout
        )
        place = self._place or _place(self._options.pass_env)
        self._adapter = Adapter(self.manifest, settings, self._client, place, self._content)
        try:
            await self._adapter.open(notice)
        except UsageError as error:
            # The call was right, and the server is what fails: the same call works once it is there.
            raise (RunAborted(str(error)) if self._address else error) from error
        self._info = msgspec.structs.replace(self._info, oracle=self._adapter.oracle)

    def warnings(self) -> Sequence[str]:
        """Return warnings about the code: files changed during the run, or a server that this run did not start."""
        if self._content is None:
            return ()
        if self._adapter is not None and (found := self._adapter.found):
            unknown = "whether it runs the files that the run's digest covers is not known"
            remedy = "stop it, and a new run starts one of its own"
            return (f"the server at {found} was not started by this run: {unknown}; {remedy}",)
        return self._content.warnings()

    async def environment(self, task: Task, episode_id: str) -> HttpEnvironment:
        """Return the environment of one episode. Raise EpisodeError, RunAborted as `Adapter.host`."""
        if self._client is None or self._adapter is None:
            raise RunAborted(f"environment {self.manifest.id!r} was not opened, or is closed")
        return HttpEnvironment(
            self._client,
            await self._adapter.host(),
            episode_id,
            task.seed,
            renewed=self._adapter.host,
            timeouts=self._timeouts,
            contract=self._contract,
            literal=self._options.literal,
        )

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return a score for every metric that the manifest defines."""
        return episode_scores(self.manifest.scoring, episode)

    async def close(self) -> None:
        """Stop the started adapter with all child processes, and close all connections."""
        adapter, self._adapter = self._adapter, None
        client, self._client = self._client, None
        try:
            if adapter is not None:
                await adapter.close()
        finally:
            if client is not None:
                await client.close()


def _info(manifest: Manifest, files: Mapping[str, str]) -> BenchmarkInfo:
    vow = manifest.vow
    return BenchmarkInfo(
        id=manifest.id,
        title=manifest.name,
        version=vow.version,
        digest=content_digest(manifest, files),
        files=dict(files),
        kind="environment",
        metrics=manifest.scoring.metrics_for_core(vow.reward),
        description=manifest.description,
        vow=vow.model_dump(mode="json", exclude_none=True),
        max_steps=vow.episode.max_steps,
        max_seconds=vow.episode.max_wall_seconds,
        parallel=vow.episode.parallel_limit,
        parallel_default=vow.episode.parallel_default,
        system_prompt=manifest.system_prompt,
        malformed=vow.episode.malformed_actions or "pass",
        view=manifest.view,
    )
