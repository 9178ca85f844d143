"""OpenEnv environments as benchmarks: `openenv:http://HOST:PORT`, or `openenv:FOLDER` with an openenv.yaml."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, RunAborted, UsageError
from mesocosm.core.folder import from_root
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.inherited import inherited
from mesocosm.core.ports import Environment
from mesocosm.core.registry import OptionRoles, declares_options
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.space import Space
from mesocosm.core.task import Task
from mesocosm.environments.adapter import RunningServer
from mesocosm.environments.client import Host, Timeouts
from mesocosm.environments.launch import ServerPlace
from mesocosm.environments.openenv.actions import ActionForm, action_form, observation_space
from mesocosm.environments.openenv.description import ServerDescription, describe_server, finished
from mesocosm.environments.openenv.folder import FolderServer, OpenEnvFolder, is_folder, read_folder
from mesocosm.environments.openenv.session import UNREWARDED, OpenEnvSession
from mesocosm.environments.openenv.session_limit import SessionLimit
from mesocosm.environments.scoring import reward_score
from mesocosm.environments.seeds import seed_count, seed_tasks
from mesocosm.http.client import HttpClient
from mesocosm.http.target import target, visible
from mesocosm.http.websocket import WebSocketClient
from mesocosm.sandboxes.plain import PlainSandbox

KIND = "openenv"
REWARD, STEPS = "reward", "steps"
MOST_STEPS = 100
"""Default of `max_steps`: nothing in the protocol says when an episode has lasted too long, and some never end."""
MAX_MESSAGE = 10 * 1024 * 1024
"""Maximum bytes of one observation."""

Seconds = Annotated[float, msgspec.Meta(gt=0)]


class OpenEnvOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `openenv`.

    Part of a run's identity: `max_steps` ends an episode; `split` names the tasks to play, where the environment has
    some, and with `tasks = false` seeds are played all the same (a folder plays seeds unless its openenv.yaml declares
    tasks, or this asks for them); `reset` are further parameters of every reset; `actions` are the values of an
    action's only field, where the schema allows any number or text but the environment does not.
    Not part of it: `python` is the interpreter of a folder's server, `pass_env` names further variables that it
    receives, and it has `start_timeout` seconds to answer. `step_timeout` and `reset_timeout` (default: the same) limit
    one answer, in seconds.
    """

    max_steps: Annotated[int, msgspec.Meta(ge=1)] = MOST_STEPS
    split: str = ""
    tasks: bool | None = None
    reset: dict[str, Any] = {}
    actions: tuple[str | int | float | bool, ...] = ()
    python: str = ""
    pass_env: tuple[str, ...] = ()
    start_timeout: Seconds = 120.0
    step_timeout: Seconds = 60.0
    reset_timeout: Seconds | None = None

    @property
    def identity(self) -> list[Any]:
        """What changes the outcome of an episode, apart from its task."""
        return [self.max_steps, self.reset, list(self.actions)]


_LOCAL = frozenset({"python", "pass_env", "start_timeout", "step_timeout", "reset_timeout"})


def _located(source: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a folder and its interpreter with their paths from the root; a URL as it is."""
    found, python = dict(options), options.get("python")
    if isinstance(python, str) and os.sep in python:
        found["python"] = from_root(python)
    return from_root(source) if is_folder(source) else source, found


@declares_options(OptionRoles(local=_LOCAL, located=_located))
def open_openenv(ref: BenchmarkRef) -> "OpenEnvBenchmark":
    """Return the benchmark of a server or a folder.

    A server is asked at once what it plays; so is that of a folder with tasks, which is started for it. Raises
    UsageError for what is neither, and for an unknown or invalid option; RunAborted if nothing answers.
    """
    try:
        options = msgspec.convert(ref.options, OpenEnvOptions)
    except msgspec.ValidationError as error:
        known = ", ".join(OpenEnvOptions.__struct_fields__)
        raise UsageError(f"options of {KIND}:{_shown(ref.source)}: {error}; known: {known}") from error
    reserved = sorted({"seed", "episode_id"} & options.reset.keys())
    if reserved:
        raise UsageError(
            f"reset.{reserved[0]} is set for each episode and cannot be chosen; seeds are those of the run"
        )
    if options.split and options.tasks is False:
        raise UsageError(f"split={options.split!r} names tasks, and tasks=false asks for none; leave one of them out")
    if is_folder(ref.source):
        folder = read_folder(from_root(ref.source), options.python)
        place = _place(options.pass_env)
        asked = folder.has_tasks if options.tasks is None else options.tasks
        described = finished(_described_folder(folder, place, options)) if asked or options.split else None
        return OpenEnvBenchmark(options, described, folder=folder, place=place)
    url = _base(ref.source)
    return OpenEnvBenchmark(options, finished(_described(url, options)), url=url)


def _shown(source: str) -> str:
    return source if is_folder(source) else visible(source)


def _base(url: str) -> str:
    try:
        address = target(url)
    except ValueError as error:
        raise UsageError(f"the URL of the OpenEnv server cannot be used: {error}") from error
    if address.authorization or "?" in address.path:
        raise UsageError(
            f"the URL {visible(url)} holds a user or a query, which would be stored with the results; write only "
            "openenv:http://HOST:PORT"
        )
    return address.url.rstrip("/").removesuffix("/ws")


def _place(declared: Sequence[str]) -> PlainSandbox:
    missing = [name for name in declared if name not in os.environ]
    if missing:
        raise UsageError(f"the server should get the variable {missing[0]}, but it is not set here")
    return PlainSandbox(environment=inherited(os.environ) | {name: os.environ[name] for name in declared})


async def _described(url: str, options: OpenEnvOptions) -> ServerDescription:
    async with HttpClient(max_response=MAX_MESSAGE) as client:
        return await describe_server(client, url, split=options.split, tasks=options.tasks is not False)


async def _described_folder(folder: OpenEnvFolder, place: ServerPlace, options: OpenEnvOptions) -> ServerDescription:
    async with HttpClient(max_response=MAX_MESSAGE) as client:
        server = FolderServer(folder, place, client, options.start_timeout)
        try:
            return await describe_server(client, (await server.open(lambda _: None)).url, split=options.split)
        finally:
            await server.close()


class OpenEnvBenchmark:
    """An OpenEnv environment, as a server at `url` or in a `folder`. Implements core.ports.Benchmark.

    Tasks are those that the server lists, otherwise seeds. The spaces are known once the server has been `described`:
    for a folder that is when the benchmark opens, unless it has tasks.
    """

    def __init__(
        self,
        options: OpenEnvOptions,
        described: ServerDescription | None,
        *,
        url: str = "",
        folder: OpenEnvFolder | None = None,
        place: ServerPlace | None = None,
    ) -> None:
        self._options = options
        self._url = url
        self._folder = folder
        self._place = place
        self._tasks = described.tasks if described is not None else None
        self._notes = described.notes if described is not None else ()
        self._timeouts = Timeouts(options.reset_timeout or options.step_timeout, options.step_timeout)
        self._info = (
            _folder_info(folder, described, options) if folder is not None else _server_info(url, described, options)
        )
        self._form: ActionForm | None = None
        self._observed: Space | None = None
        if described is not None:
            self._learn(described)
        self._client: HttpClient | None = None
        self._sockets: WebSocketClient | None = None
        self._server: FolderServer | None = None
        self._limit = SessionLimit(lambda _: None)

    @property
    def info(self) -> BenchmarkInfo:
        """Facts from the server or from openenv.yaml."""
        return self._info

    @property
    def action_space(self) -> Space | None:
        """The space of actions; None before it is known."""
        return None if self._form is None else self._form.space

    @property
    def observation_space(self) -> Space | None:
        """The space of observations; None before it is known, and where actions are calls of tools."""
        return self._observed

    def count(self, selection: Selection) -> int:
        """Return the number of tasks that `selection` selects."""
        return seed_count(selection) if self._tasks is None else len(self._chosen(self._tasks, selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield seeds, or the tasks of the split: the first `count`, or those whose index is among `seeds`."""
        yield from seed_tasks(selection) if self._tasks is None else self._chosen(self._tasks, selection)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Connect, or start the server of the folder. Raises RunAborted, UsageError."""
        self._limit = SessionLimit(notice)
        self._client = HttpClient(max_response=MAX_MESSAGE)
        self._sockets = WebSocketClient(max_message=MAX_MESSAGE)
        if self._folder is not None and self._place is not None:
            self._server = FolderServer(self._folder, self._place, self._client, self._options.start_timeout)
            launched = await self._server.open(notice)
            described = await describe_server(self._client, launched.url, split=self._options.split, tasks=False)
            self._learn(described)
            self._notes = described.notes
            if self._tasks is None and described.splits:
                splits = ", ".join(described.splits)
                notice(f"seeds are played; the environment also has tasks ({splits}): -P tasks=true")
        for note in self._notes:
            notice(note)

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the session of one episode, connected; nothing is sent on it yet. Raises EpisodeError, RunAborted."""
        if self._sockets is None or self._form is None:
            raise RunAborted(f"environment {self._info.id!r} was not opened, or is closed")
        session = OpenEnvSession(
            self._sockets,
            await self._host(),
            self._limit,
            self._form,
            {**self._options.reset, **_reset_of(task), "episode_id": episode_id},
            timeouts=self._timeouts,
        )
        await session.connect()
        return session

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the sum of the rewards, missing if the server never gave one, and the number of steps."""
        del task
        reward = reward_score(REWARD, episode)
        if episode.terminal_info.get(UNREWARDED) or not episode.steps:
            reward = Score(REWARD, missing=Cause.VALUE_MISSING, explanation="the environment gave no reward at all")
        return [reward, Score(STEPS, float(episode.steps))]

    def warnings(self) -> Sequence[str]:
        """Return a warning if files of the folder changed while its server ran."""
        return () if self._server is None else self._server.warnings()

    async def close(self) -> None:
        """Stop the server that was started here, and close all connections."""
        server, self._server = self._server, None
        sockets, self._sockets = self._sockets, None
        client, self._client = self._client, None
        try:
            if sockets is not None:
                await sockets.close()
            if server is not None:
                await server.close()
        finally:
            if client is not None:
                await client.close()

    async def _host(self) -> Host:
        return RunningServer(self._url) if self._server is None else await self._server.host()

    def _learn(self, described: ServerDescription) -> None:
        self._form = action_form(described.action, described.tools, self._options.actions)
        self._observed = None if described.tools else observation_space(described.observation)
        self._info = msgspec.structs.replace(
            self._info,
            description=described.text or self._info.description,
            vow={**self._info.vow, **_vow(described, self._form, self._observed)},
        )

    def _chosen(self, tasks: Sequence[Task], selection: Selection) -> Sequence[Task]:
        if selection.seeds is None:
            return tasks if selection.count is None else tasks[: max(selection.count, 0)]
        wrong = next((seed for seed in selection.seeds if not 0 <= seed < len(tasks)), None)
        if wrong is not None:
            raise UsageError(f"there is no task {wrong}; the split has {len(tasks):,}, counted from 0")
        return [tasks[seed] for seed in selection.seeds]


def _reset_of(task: Task) -> dict[str, Any]:
    if isinstance(task.input, Mapping):
        return {"split": task.input["split"], "index": task.input["index"]}
    return {} if task.seed is None else {"seed": task.seed}


def _metrics(bounds: tuple[float, float] | None) -> tuple[Metric, ...]:
    low, high = bounds or (None, None)
    return (
        Metric("mean_reward", REWARD, primary=True, low=low, high=high),
        Metric("mean_steps", STEPS, directed=False),
    )


def _server_info(url: str, described: ServerDescription | None, options: OpenEnvOptions) -> BenchmarkInfo:
    assert described is not None
    name = described.name or url.partition("://")[2]
    return BenchmarkInfo(
        id=name,
        title=f"{described.metadata.get('name') or name} (openenv)",
        version=str(described.metadata.get("version") or "1"),
        # The code of a server is unknown, so another address is another environment.
        digest=digest([url, described.content(), described.played, options.identity]),
        kind=KIND,
        metrics=_metrics(None),
        max_steps=options.max_steps,
    )


def _folder_info(folder: OpenEnvFolder, described: ServerDescription | None, options: OpenEnvOptions) -> BenchmarkInfo:
    bounds = folder.reward_range
    project = folder.project.get("project")
    return BenchmarkInfo(
        id=folder.name,
        title=f"{folder.name} (openenv)",
        version=folder.version,
        digest=digest([dict(folder.files), described.played if described is not None else None, options.identity]),
        files=dict(folder.files),
        kind=KIND,
        metrics=_metrics(bounds),
        description=str(project.get("description", "")) if isinstance(project, Mapping) else "",
        max_steps=options.max_steps,
        vow={"reward": {"type": "scalar", "range": {"low": bounds[0], "high": bounds[1]}}} if bounds else {},
    )


def _vow(described: ServerDescription, form: ActionForm, observed: Space | None) -> dict[str, Any]:
    """Return what the server adds to the contract: its spaces, and the tools as a technique."""
    spaces = {"action_space": form.space, "observation_space": observed}
    found: dict[str, Any] = {
        name: space.model_dump(mode="json", exclude_none=True) for name, space in spaces.items() if space is not None
    }
    if described.text:
        found["description"] = described.text
    if form.tools:
        found["techniques"] = [
            {
                "technique_id": "tool_calling",
                "params": {
                    "tools": [msgspec.to_builtins(tool) for tool in form.tools],
                    "shape": {"type": "call_tool", "tool_name": "{name}", "arguments": "{arguments}"},
                },
            }
        ]
    return found
