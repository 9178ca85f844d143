"""What an OpenEnv server says about its environment before anything is played."""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from mesocosm.core.failure import EpisodeError, RunAborted, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import Tool
from mesocosm.core.task import Task
from mesocosm.environments.answers import cut, decode, own_words
from mesocosm.environments.openenv.actions import takes_tools
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.http.response import Response
from mesocosm.http.target import visible

CALL_S = 60.0
MOST_TASKS = 100_000
"""Maximum number of tasks of a split; more would not be read before a run starts."""
PAGE = 500
ABSENT = frozenset({404, 405, 501})
"""Statuses with which a server says that it, or its environment, has no such thing."""
_PREFERRED = ("test", "validation")
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServerDescription:
    """The environment of a server: its metadata, JSON Schemas, tools, and tasks (None: it has none, seeds are played).

    `splits` are the names of its sets of tasks, `split` the one that `tasks` are of. `notes` are for the user.
    """

    name: str
    metadata: Mapping[str, Any]
    action: Mapping[str, Any]
    observation: Mapping[str, Any]
    tools: tuple[Tool, ...] = ()
    splits: tuple[str, ...] = ()
    split: str = ""
    tasks: tuple[Task, ...] | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def text(self) -> str:
        """What the environment's author says of it; empty if it is only what OpenEnv puts there by itself."""
        given = str(self.metadata.get("description") or "")
        return "" if given == f"{self.metadata.get('name')} environment" else given

    @property
    def played(self) -> str | None:
        """The split whose tasks are played; None if seeds are."""
        return None if self.tasks is None else self.split

    def content(self) -> str:
        """Return a digest of it, without the tasks, which have digests of their own, and the texts for people."""
        facts = {name: self.metadata.get(name) for name in ("name", "version", "description")}
        tools = [msgspec.to_builtins(tool) for tool in self.tools]
        return digest([self.name, facts, self.action, self.observation, tools])


async def describe_server(client: HttpClient, url: str, *, split: str = "", tasks: bool = True) -> ServerDescription:
    """Return what the server at `url` says. With `tasks`, also its tasks: those of `split`, else of its test split.

    Raises RunAborted if nothing answers, or the environment fails; UsageError if it is no OpenEnv server, or has no
    split of this name.
    """
    server = _Server(client, url)
    schema = await server.schema()
    metadata = await server.get("/metadata", optional=True)
    names = await server.get("/list_environments", optional=True)
    name = str(names[0]) if isinstance(names, list) and names else ""
    notes: list[str] = []
    tools = await server.tools(notes) if takes_tools(schema["action"]) else ()
    splits = await server.splits(name) if name else ()
    chosen = _chosen(splits, split, url)
    return ServerDescription(
        name,
        metadata if isinstance(metadata, dict) else {},
        schema["action"],
        schema["observation"],
        tools,
        splits,
        chosen,
        await server.tasks(name, chosen, notes) if tasks and chosen else None,
        tuple(notes),
    )


def _chosen(splits: Sequence[str], wanted: str, url: str) -> str:
    if wanted and wanted not in splits:
        known = ", ".join(splits) or "none: this environment has no tasks, and plays seeds"
        raise UsageError(f"the environment at {_shown(url)} has no split {wanted!r}; it has {known}")
    usual = next((name for name in _PREFERRED if name in splits), splits[0] if splits else "")
    return wanted or usual


class _Server:
    """The HTTP routes of a server. They are stateless: each call that needs an environment makes a fresh one."""

    def __init__(self, client: HttpClient, url: str) -> None:
        self._client = client
        self._url = url.rstrip("/")

    async def schema(self) -> dict[str, dict[str, Any]]:
        response = await self._request("GET", "/schema")
        found: Any = None
        if response.status == 200:
            try:
                found = decode(response.body)
            except EpisodeError:
                found = None
        if not isinstance(found, dict) or not all(
            isinstance(found.get(key), dict) for key in ("action", "observation")
        ):
            raise UsageError(
                f"{_shown(self._url)} answers, but is no OpenEnv server: GET /schema has status {response.status} and "
                f"no schema of actions and observations ({cut(own_words(response.body), 200) or 'no text'}); name the "
                "URL without a path of a page or API, as in openenv:http://127.0.0.1:8000"
            )
        return found

    async def tools(self, notes: list[str]) -> tuple[Tool, ...]:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        found = await self.post("/mcp", asked, optional=True)
        result = found.get("result") if isinstance(found, dict) else None
        listed = result.get("tools") if isinstance(result, dict) else None
        if not isinstance(listed, list):
            error = found.get("error") if isinstance(found, dict) else None
            reason = error.get("message") if isinstance(error, dict) else "it has no route for them"
            notes.append(f"the environment lists no tools ({reason}), so its actions are written as JSON")
            return ()
        return tuple(_tool(tool) for tool in listed if isinstance(tool, dict) and isinstance(tool.get("name"), str))

    async def splits(self, name: str) -> tuple[str, ...]:
        found = await self.get(f"/{quote(name, safe='')}/splits", optional=True)
        listed = found if isinstance(found, list) else []
        names = (split.get("name") if isinstance(split, dict) else split for split in listed)
        return tuple(split for split in names if isinstance(split, str) and split)

    async def tasks(self, name: str, split: str, notes: list[str]) -> tuple[Task, ...]:
        base = f"/{quote(name, safe='')}"
        counted = await self.post(f"{base}/num_tasks", {"split": split})
        count = counted.get("num_tasks") if isinstance(counted, dict) else None
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_TASKS:
            raise RunAborted(
                f"the split {split!r} of {_shown(self._url)} has {count!r} tasks; 0 to {MOST_TASKS:,} can be played"
            )
        specs: list[Any] = []
        while len(specs) < count:
            asked = {"split": split, "start": len(specs), "stop": min(len(specs) + PAGE, count)}
            page = await self.post(f"{base}/task_range", asked, optional=True)
            found = page.get("tasks") if isinstance(page, dict) else None
            if not isinstance(found, list) or not found:
                break
            specs += found
        if len(specs) < count:
            notes.append(
                f"the environment shows {len(specs):,} of the {count:,} tasks of split {split!r}; a change of the "
                "others is not noticed"
            )
        return tuple(_task(split, index, specs[index] if index < len(specs) else None) for index in range(count))

    async def get(self, path: str, *, optional: bool = False) -> Any:
        return self._value(await self._request("GET", path), path, optional=optional)

    async def post(self, path: str, body: Mapping[str, Any], *, optional: bool = False) -> Any:
        response = await self._request("POST", path, msgspec.json.encode(body))
        return self._value(response, path, optional=optional)

    def _value(self, response: Response, path: str, *, optional: bool) -> Any:
        if optional and response.status in ABSENT:
            return None
        words = own_words(response.body) or "no text"
        if response.status != 200:
            raise RunAborted(f"{_shown(self._url + path)} has status {response.status}: {words}")
        try:
            return decode(response.body)
        except EpisodeError as error:
            raise RunAborted(f"{_shown(self._url + path)}: {error}") from error

    async def _request(self, method: str, path: str, body: bytes | None = None) -> Response:
        try:
            return await self._client.request(method, self._url + path, headers=_JSON, body=body, timeout=CALL_S)
        except HttpError as error:
            raise RunAborted(
                f"no OpenEnv server answers at {_shown(self._url)} ({error.cause}); start it there, or name the "
                "folder of the environment, openenv:DIR, and it is started"
            ) from error


def _tool(listed: Mapping[str, Any]) -> Tool:
    """Return a tool as listed by MCP (`inputSchema`), or by OpenEnv's own observation (`input_schema`)."""
    schema = listed.get("inputSchema") or listed.get("input_schema")
    words = str(listed.get("description") or "").strip()
    return Tool(str(listed["name"]), words, schema if isinstance(schema, dict) else {"type": "object"})


def _task(split: str, index: int, spec: Any) -> Task:
    """Return a task. What it is about stays with the server: it may hold the answer. Its digest is part of the task."""
    given = spec.get("id") if isinstance(spec, dict) else None
    about = {} if spec is None else {"content": digest(spec)[:32]}
    name = str(given) if isinstance(given, str | int) and str(given) else f"{split}-{index}"
    return Task(name, input={"split": split, "index": index, **about})


def _shown(url: str) -> str:
    return visible(url).rstrip("/")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Do asynchronous work to its end in a thread and return its result, whether or not an event loop runs here."""
    result: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            result.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=run, name="openenv-description")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]
