"""Task sets of verifiers: an episode of the framework for each of ours, with its model calls at our address."""

import ast
import asyncio
import contextlib
import importlib.util
import itertools
import json
import os
import pkgutil
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from . import Failed, Tell, digest, versions
from .verifiers_outcome import REWARD, in_file, outcome
from .verifiers_source import CONTAINER, Prepared, Wanted, files_of, prepared, version_of, wanted

PACKAGES = ("verifiers", "openai", "mcp", "pydantic")
MOST_OF_ENDLESS = 100
"""Tasks of a task set without an end, unless the option `tasks` says another number."""
_OTHER = "http://other.invalid/v1"
"""Address in the configuration of roles that do not play the model under evaluation."""
_ABSENT = re.compile(r"(taskset|harness|judge|environment) '([^']*)' not found")
_BASE = frozenset(
    {
        *("idx", "id", "name", "description", "prompt", "system_prompt", "image", "workdir", "agent_user", "skills"),
        *("network_allow", "network_block", "artifacts", "artifact_max_bytes", "timeout", "resources"),
    }
)
"""Fields of the data of every task; what a task set adds to them is what its graders compare with."""


@dataclass(frozen=True)
class _Reach:
    """How the clients of one episode reach its models."""

    base_url: str
    key: str = field(repr=False)
    model: str


@dataclass(frozen=True)
class _Models:
    """The model of an episode, and that of its graders and of roles that name another."""

    own: _Reach
    other: _Reach


_MODELS: ContextVar[_Models | None] = ContextVar("mesocosm_models", default=None)
"""The models of the episode that the current task belongs to."""


class Tasksets:
    """Speaks for one task set."""

    def __init__(self) -> None:
        # The framework looks for `uv` on the path; installed with it, it is beside this interpreter.
        beside = str(Path(sys.executable).parent)
        os.environ["PATH"] = f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        self._numbers = itertools.count(1)
        self._env: Any = None
        self._config: Any = None
        self._tasks: list[Any] = []
        self._serving: asyncio.Future[None] | None = None
        self._server: asyncio.Task[None] | None = None

    # Words

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Load a task set with all its tasks."""
        what = wanted(source, args)
        setup = self._load(what)
        module = _loaded(what.taskset)
        taskset = self._env.taskset
        limit = setup.limit if setup.limit is not None else None if taskset.bounded else MOST_OF_ENDLESS
        self._tasks = list(taskset if limit is None else taskset.take(limit))
        boxed = type(taskset).task_type().NEEDS_CONTAINER or any(task.data.image for task in self._tasks)
        if boxed and "runtime" not in what.options:
            setup = self._load(what, container=True)
        name = re.sub(r"[^a-z0-9.]+", "-", what.taskset.rsplit("/", 1)[-1].split("@")[0].lower()).strip("-")
        name = f"{setup.config.id}+{name}" if setup.config.id else name
        texts = [path.read_text("utf-8", "replace") for path in files_of(module)]
        harnesses = ", ".join(dict.fromkeys(setup.harnesses.values()))
        packages = versions(*PACKAGES)
        return {
            "id": f"verifiers/{name}",
            "title": f"{name} (harness {harnesses})",
            "version": version_of(module),
            "digest": digest(
                packages.get("verifiers"),
                texts,
                setup.config.model_dump(mode="json"),
                [task.hash for task in self._tasks],
            ),
            "description": _first_line(module.__doc__),
            "tasks": len(self._tasks),
            "metrics": [{"name": REWARD, "score": REWARD, "primary": True}],
            "discovers": True,
            "packages": packages,
            "needs": [CONTAINER] if CONTAINER in setup.runtimes.values() else [],
            "notices": list(setup.notices),
            "judged": bool(setup.asks_other) or any("Judge" in text for text in texts) or _has_judges(self._env),
            "card": {
                "harness": dict(setup.harnesses),
                "runtime": dict(setup.runtimes),
                **({"tasks": f"the first {limit}"} if limit is not None else {}),
                **({"played by the judge": list(setup.asks_other)} if setup.asks_other else {}),
            },
        }

    def tasks(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield the tasks."""
        seen: set[str] = set()
        for place, task in enumerate(self._tasks):
            shown = _task(task, place)
            if shown["id"] in seen:
                shown["id"] = f"{shown['id']}#{place}"
            seen.add(shown["id"])
            yield {"task": shown}

    async def play(
        self,
        tell: Tell,
        place: int,
        base_url: str,
        key: str,
        model: str,
        judge: Mapping[str, str] | None = None,
        seconds: float | None = None,
        sampling: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> dict[str, Any]:
        """Play one task as one episode of the framework."""
        from verifiers.v1.clients import EvalClientConfig, ModelContext
        from verifiers.v1.env import RunSlot
        from verifiers.v1.types import SamplingConfig

        del tell
        await self._served()
        own = _Reach(base_url, key, model)
        _MODELS.set(_Models(own, _Reach(**judge) if judge is not None else own))
        # Variables whose name holds API_KEY reach no program that the framework starts.
        variable = f"MESOCOSM_API_KEY_{next(self._numbers)}"
        os.environ[variable] = key
        settings = {name: value for name, value in (sampling or {}).items() if value is not None}
        context = ModelContext(
            client=EvalClientConfig(base_url=base_url, api_key_var=variable),
            model=model,
            sampling=SamplingConfig.model_validate(settings),
        )
        try:
            async with asyncio.timeout(seconds):
                episode = await self._env.run_slot(RunSlot(self._tasks[place]), context)
        except TimeoutError:
            raise Failed(f"the episode took longer than {seconds:g} s", "program_timeout") from None
        finally:
            del os.environ[variable]
        return outcome(self._env, episode)

    async def original(
        self, tell: Tell, base_url: str, key: str, model: str, limit: int | None = None, trials: int = 1, **_: Any
    ) -> None:
        """Play the first `limit` tasks with the framework's own runner, and send what it scored from its own file."""
        from verifiers.v1.cli.eval.runner import run_eval
        from verifiers.v1.configs.cli.eval import EvalConfig

        os.environ["MESOCOSM_API_KEY_0"] = key
        count = len(self._tasks) if limit is None else min(limit, len(self._tasks))
        client = {"base_url": base_url, "api_key_var": "MESOCOSM_API_KEY_0"}
        with tempfile.TemporaryDirectory(prefix="mesocosm-") as folder:
            config = EvalConfig.model_validate(
                {
                    "env": self._config,
                    "model": model,
                    "client": client,
                    "num_rollouts": trials,
                    "select": {"limit": count},
                    "rich": None,
                    "push": False,
                    "output_dir": folder,
                    "run": {"dir": "played"},
                }
            )
            await run_eval(config)
            lines = (Path(folder) / "played" / "traces.jsonl").read_text("utf-8").splitlines()
        places = {task.hash: place for place, task in enumerate(self._tasks)}
        seen: Counter[int] = Counter()
        for line in lines:
            record = json.loads(line)
            place = places[record["task"]["hash"]]
            tell.event({"sample": {"place": place, "trial": seen[place], **in_file(record)}})
            seen[place] += 1

    def catalogue(self, **_: Any) -> Iterator[dict[str, Any]]:
        """Yield the task sets of the framework and of installed packages, without importing them."""
        for path, package in _installed():
            entry = _entry(path, package)
            if entry is not None:
                yield {"entry": entry}

    # The environment

    def _load(self, what: Wanted, container: bool = False) -> Prepared:
        import verifiers.v1  # noqa: F401 -- the framework's own order of imports
        from verifiers.v1.utils import loaders

        _through_addresses()
        _fetch_once()
        try:
            _loaded(what.taskset)
            setup = prepared(what, container)
            for role in setup.asks_other:
                spec = getattr(setup.config, role)
                setattr(setup.config, role, spec.model_copy(update={"client": _other_client()}))
            self._env, self._config = loaders.load_environment(setup.config), setup.config
        except Failed:
            raise
        except ModuleNotFoundError as error:
            raise Failed(_not_found(error), "environment_invalid") from error
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise Failed(str(error), "environment_invalid") from error
        return setup

    async def _served(self) -> None:
        """Wait until the resources that all episodes share are there. Raises Failed."""
        if self._serving is None:
            self._serving = asyncio.get_running_loop().create_future()
            self._server = asyncio.create_task(self._serve(self._serving))
        try:
            await asyncio.shield(self._serving)
        except Failed:
            self._serving = None
            raise

    async def _serve(self, ready: asyncio.Future[None]) -> None:
        """Hold the shared resources until this process ends, which cancels this."""
        try:
            async with self._env.serving():
                ready.set_result(None)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 -- foreign code
            if not ready.done():
                ready.set_exception(Failed(f"{type(error).__name__}: {error}"))
                # Whoever waits hears it; if nobody does any more, it is no concern of the loop.
                with contextlib.suppress(Exception):
                    ready.exception()


def _loaded(taskset: str) -> Any:
    from verifiers.v1.utils.loaders import import_taskset, taskset_class

    taskset_class(taskset)
    return import_taskset(taskset)


def _other_client() -> Any:
    from verifiers.v1.clients import EvalClientConfig

    return EvalClientConfig(base_url=_OTHER, api_key_var="MESOCOSM_API_KEY_0")


def _has_judges(env: Any) -> bool:
    return bool(env.taskset.config.task.judges)


def _not_found(error: ModuleNotFoundError) -> str:
    """Return what a name means that cannot be imported: that of nothing, or that of something without its packages."""
    from verifiers.v1.utils.loaders import builtin_harness_ids

    cause = error.__cause__
    missing = str(cause.name if isinstance(cause, ModuleNotFoundError) else error.name)
    named = _ABSENT.match(str(error))
    if (
        named is None
        or missing.rsplit(".", 1)[-1] != named[2].rsplit("/", 1)[-1].split("@")[0].replace("-", "_").lower()
    ):
        return f"it needs the package {missing}, which is not installed beside verifiers"
    kind, name = named.groups()
    if kind == "harness":
        known = [one for one in builtin_harness_ids() if one not in {"node", "utils"}]
        return f"no harness is called {name}; there are {', '.join(known)}"
    if kind != "taskset":
        return f"no {kind} is called {name}"
    names = sorted({entry["id"] for entry in (_entry(path, package) for path, package in _installed()) if entry})
    return f"no task set is called {name}; there are {', '.join(names)}, and those of any file or folder"


# Calls of the framework to models


def _through_addresses() -> None:
    """Let every client of an episode use the addresses of that episode, on the connections of one transport.

    A client of the framework for each episode would cost it a new TLS context, and would be kept until the end.
    """
    import httpx
    from openai import AsyncOpenAI
    from verifiers.v1 import judge
    from verifiers.v1.clients.eval import EvalClient
    from verifiers.v1.interception.server import InterceptionServer

    original = InterceptionServer._client  # noqa: SLF001 -- there is no other way to give a rollout its client
    if getattr(original, "of_mesocosm", False):
        return
    timeout = httpx.Timeout(None, connect=30.0)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    shared = httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False)

    def client(server: Any, config: Any) -> Any:
        models = _MODELS.get()
        if models is None:
            return original(server, config)
        reach = models.other if config.base_url == _OTHER else models.own
        found = EvalClient.__new__(EvalClient)
        found.base_url, found.api_key, found.headers, found.client = reach.base_url, reach.key, {}, shared
        return found

    def asked_by_judge(config: Any) -> Any:
        models = _MODELS.get()
        if models is None:
            return judge_client(config)
        # The client of a judge is closed after its call, and with it this transport.
        own = httpx.AsyncClient(timeout=timeout, trust_env=False, verify=False)  # noqa: S501 -- loopback, no TLS
        return AsyncOpenAI(base_url=models.other.base_url, api_key=models.other.key, max_retries=0, http_client=own)

    client.of_mesocosm = True  # type: ignore[attr-defined]
    InterceptionServer._client = client  # noqa: SLF001
    judge_client, judge.build_async_openai = judge.build_async_openai, asked_by_judge


def _fetch_once() -> None:
    """Let the scripts of harnesses start from what `uv` has fetched before; only what is missing needs the network."""
    from verifiers.v1.runtimes.subprocess import SubprocessRuntime

    fetching = SubprocessRuntime.run
    if getattr(fetching, "of_mesocosm", False):
        return

    async def run(runtime: Any, argv: list[str], env: dict[str, str]) -> Any:
        if env.get("UV_OFFLINE") == "false":
            done = await fetching(runtime, argv, {**env, "UV_OFFLINE": "true"})
            if done.exit_code == 0:
                return done
        return await fetching(runtime, argv, env)

    run.of_mesocosm = True  # type: ignore[attr-defined]
    SubprocessRuntime.run = run


# Tasks


def _task(task: Any, place: int) -> dict[str, Any]:
    data = task.data
    fields = data.model_dump(mode="json", exclude_none=True)
    own = {name: value for name, value in fields.items() if name not in _BASE}
    named = data.id or data.name or (task.key if task.key != task.hash else None)
    prompt = fields.get("prompt")
    if data.system_prompt and prompt is not None:
        shown = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        prompt = [{"role": "system", "content": data.system_prompt}, *shown]
    return {
        "id": str(named) if named else str(place),
        "place": place,
        "input": prompt if prompt is not None else data.system_prompt or data.description,
        "target": own.get("answer") if set(own) == {"answer"} else own or None,
        "metadata": {"hash": task.hash, **({"description": data.description} if data.description else {})},
    }


# What is installed


def _installed() -> Iterator[tuple[Path, str]]:
    """Yield the modules that may hold a task set, each with the package that brings it."""
    framework = importlib.util.find_spec("verifiers")
    for place in framework.submodule_search_locations or () if framework is not None else ():
        own = Path(place) / "v1" / "tasksets"
        for found in pkgutil.iter_modules([str(own)]):
            yield own / found.name, "verifiers"
    for package, names in sorted(_by_distribution().items()):
        for name in names:
            for root in map(Path, sys.path):
                for path in (root / name, root / f"{name}.py"):
                    if path.exists():
                        yield path, package


def _by_distribution() -> dict[str, set[str]]:
    """Return the top modules of the distributions that need verifiers, by distribution."""
    needing = {
        one.metadata["Name"]
        for one in metadata.distributions()
        if any(re.match(r"verifiers\b", need) for need in one.requires or [])
    }
    found: dict[str, set[str]] = {}
    for module, packages in metadata.packages_distributions().items():
        for package in needing.intersection(packages):
            found.setdefault(package, set()).add(module)
    return found


def _entry(path: Path, package: str) -> dict[str, Any] | None:
    """Return what the catalogue says of a module; None if it exports no task set."""
    # The docstring of the package itself goes before that of its task set, and that before others.
    order = {"__init__": 0, "taskset": 1}
    found = [path] if path.is_file() else path.rglob("*.py")
    files = sorted(found, key=lambda file: (order.get(file.stem, 2), file))
    trees = {file: _parsed(file) for file in files}
    first = trees.get(path if path.is_file() else path / "__init__.py")
    exported = _exported(first)
    if first is None or not any(name.endswith("Taskset") for name in exported):
        return None
    described = ast.get_docstring(first)
    for tree in trees.values():
        described = described or (ast.get_docstring(tree) if tree is not None else None)
    name = path.stem.replace("_", "-")
    boxed = any(tree is not None and _needs_container(tree) for tree in trees.values())
    return {
        "id": name,
        "title": name,
        "description": _first_line(described),
        "tasks": None,
        "needs": [CONTAINER] if boxed else [],
        "licence": _licence(package),
        "tags": [package],
        "run": f"verifiers:{name}",
    }


def _parsed(file: Path) -> ast.Module | None:
    try:
        return ast.parse(file.read_text("utf-8", "replace"))
    except SyntaxError:
        return None


def _exported(tree: ast.Module | None) -> list[str]:
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
        ):
            with contextlib.suppress(ValueError):
                return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _needs_container(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(one, ast.Name) and one.id == "NEEDS_CONTAINER" for one in targets):
            value = getattr(node, "value", None)
            return isinstance(value, ast.Constant) and value.value is True
    return False


def _licence(package: str) -> str:
    try:
        told = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return ""
    named = next((told[name] for name in ("License-Expression", "License") if name in told), "")
    return str(named).split("\n", 1)[0]


def _first_line(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n")[0].split())


def framework() -> Tasksets:
    """Return what speaks for verifiers."""
    return Tasksets()
