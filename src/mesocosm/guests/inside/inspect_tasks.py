"""Tasks of Inspect: one evaluation a process, to which each episode adds its sample.

The evaluation's dataset is a `SampleSource`, so that samples start when the host wants them, and as often as it wants
them. Calls of the model go to the address of the episode whose sample makes them.
"""

import ast
import asyncio
import contextlib
import contextvars
import difflib
import importlib
import math
import os
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import Failed, Tell, digest, finite, versions

PROVIDER = "mesocosm"
"""Provider of the models of a run: `mesocosm/NAME`, and `mesocosm/judge` for the model of the graders."""
JUDGE = "judge"
LIMITS = ("message_limit", "token_limit", "turn_limit", "time_limit", "working_limit")
"""Arguments that a task need not have: limits of every sample."""
ROLES, SANDBOX = "roles", "sandbox"
_UNBOUNDED = 100_000
_JUDGING = ("grader", "judge", "judger", "rater", "evaluator", "scorer")
"""A role is one of the graders if its name ends with one of these."""
_REPEAT = 1_000_000
"""Is added to the epoch of a sample that is played again: a pair of sample and epoch runs once."""
_LONGEST_TEXT = 20_000
_MOST_LABELS, _LONGEST_LABEL = 20, 40
_MOST_FILES = 400
_MOST_FRAMES = 4_000

Fields = dict[str, Any]


@dataclass
class Play:
    """One episode: what the host asked, and the future of its outcome."""

    tell: Tell
    model: Mapping[str, Any]
    judge: Mapping[str, Any] | None
    place: int
    outcome: asyncio.Future[Any]
    scoring: bool = False


@dataclass
class Loaded:
    """A task with its samples, their contents, and what is known of its scorers."""

    task: Any
    samples: list[Any]
    contents: list[Fields]
    metrics: list[Fields]
    scorers: list[str]
    roles: list[str]
    limits: Fields
    sandbox: str
    playing: dict[tuple[str, int], Play] = field(default_factory=dict)
    started: Counter[tuple[str, int]] = field(default_factory=Counter)


class InspectTasks:
    """Speaks for Inspect. See mesocosm.guests.messages for the words."""

    def __init__(self) -> None:
        self._loaded: Loaded | None = None
        self._evaluation: asyncio.Task[Any] | None = None
        self._add: Any = None
        self._folder = tempfile.TemporaryDirectory(prefix="mesocosm-inspect-")

    def describe(self, source: str, args: Mapping[str, Any], **_: Any) -> Fields:
        """Load a task."""
        self._prepare()
        loaded = self._loaded = _load(source, dict(args))
        task = loaded.task
        packages = versions("inspect_ai", "inspect_evals", *_distributions(source))
        title, description = _described_as(source, task)
        return {
            "id": f"inspect/{_name(source, task)}",
            "title": title,
            "version": _version(task, packages),
            "digest": digest(source, dict(args), packages, _code(source), loaded.contents),
            "tasks": len(loaded.samples),
            "metrics": loaded.metrics,
            "packages": packages,
            "needs": _needs(loaded),
            # Any scorer may ask a model, and none says so.
            "judged": True,
            "discovers": True,
            "description": description,
            "card": {
                "epochs": task.epochs or 1,
                "scorers": loaded.scorers,
                "roles": loaded.roles,
                "dataset": task.dataset.name,
            },
        }

    def tasks(self, **_: Any) -> Iterator[Fields]:
        """Yield the samples in the order of the dataset."""
        loaded = self._known()
        labels = _labels(loaded.samples)
        for place, (sample, content) in enumerate(zip(loaded.samples, loaded.contents, strict=True)):
            shown = {"input": content["input"]}
            if sample.choices:
                shown["choices"] = content["choices"]
            told: Fields = {
                "id": str(sample.id),
                "place": place,
                "input": shown if sample.choices else content["input"],
                "target": content.get("target") or None,
                "labels": labels[place],
            }
            if sample.metadata:
                told["metadata"] = content["metadata"]
            yield {"task": told}

    async def play(
        self,
        tell: Tell,
        place: int,
        trial: int,
        base_url: str,
        key: str,
        model: str,
        judge: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        **_: Any,
    ) -> Fields:
        """Run one sample to its end, with its scores."""
        loaded = self._known()
        sample = loaded.samples[place]
        await self._running(model, seconds)
        name = (str(sample.id), trial + 1)
        repeats = loaded.started[name]
        loaded.started[name] += 1
        epoch = trial + 1 + repeats * _REPEAT
        outcome: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        reached = {"base_url": base_url, "key": key, "model": model}
        play = Play(tell, reached, judge, place, outcome)
        loaded.playing[str(sample.id), epoch] = play
        try:
            self._add(sample, epoch)
            return _ended(await outcome, loaded)
        except asyncio.CancelledError:
            _interrupt(str(sample.id), epoch)
            raise
        finally:
            del loaded.playing[str(sample.id), epoch]

    def catalogue(self, **_: Any) -> Iterator[Fields]:
        """Yield every task of the installed packages; none of them is imported."""
        for package in sorted({_package(point) for point in _points()}):
            for entry in _entries(package):
                yield {"entry": entry}

    def playing(self) -> Play | None:
        """Return the episode of the sample that is calling."""
        from inspect_ai.log._samples import sample_active

        active = sample_active()
        if active is None or self._loaded is None:
            return None
        return self._loaded.playing.get((str(active.sample.id), active.epoch))

    def _known(self) -> Loaded:
        if self._loaded is None:
            raise Failed("no task is loaded", "environment_invalid")
        return self._loaded

    def _prepare(self) -> None:
        """Set what Inspect reads when it is imported, and register the model of the run."""
        scratch = Path(self._folder.name)
        os.environ |= {
            "INSPECT_DISPLAY": "none",
            "INSPECT_LOG_DIR": str(scratch / "logs"),
            # A reply from a cache would be a call that nobody records.
            "INSPECT_CACHE_DIR": str(scratch / "cache"),
            "INSPECT_TRACE_FILE": str(scratch / "trace.log"),
            # Some tasks ask for their model while they are made.
            "INSPECT_EVAL_MODEL": f"{PROVIDER}/model",
        }
        # Datasets are shuffled with the global generator; a guest that is started again needs the same order.
        random.seed(0)
        with _without_tasks():
            _register(self)

    async def _running(self, model: str, seconds: float | None) -> None:
        """Start the evaluation if none is running, and wait until it takes samples."""
        if self._evaluation is not None and not self._evaluation.done():
            while self._add is None and not self._evaluation.done():
                await asyncio.sleep(0.01)
            if self._add is not None:
                return
        loaded = self._known()
        loaded.started.clear()
        self._add = None
        self._evaluation = asyncio.get_running_loop().create_task(self._evaluate(loaded, model, seconds))
        await self._running(model, seconds)

    async def _evaluate(self, loaded: Loaded, model: str, seconds: float | None) -> None:
        from inspect_ai import SampleSource, enqueue_sample, eval_async, task_with
        from inspect_ai.model import get_model

        guest = self

        class Wanted(SampleSource):  # type: ignore[misc]
            """The samples that the host asks for."""

            def __init__(self) -> None:
                self._woken = asyncio.Event()

            async def next_samples(self) -> list[Any]:
                """Wait until a sample is wanted. Samples are enqueued in the context of the evaluation."""
                context = contextvars.copy_context()

                def add(sample: Any, epoch: int) -> None:
                    context.run(enqueue_sample, sample, epoch=epoch)
                    self._woken.set()

                self._woken.clear()
                guest._add = add
                await self._woken.wait()
                return []

        judge = get_model(f"{PROVIDER}/{model}", judging=True)
        asked = get_model(f"{PROVIDER}/{model}")
        roles = {role: judge if role.endswith(_JUDGING) else asked for role in loaded.roles}
        limits = dict(loaded.limits)
        if seconds is not None:
            own = limits.get("time_limit") or loaded.task.time_limit or math.inf
            limits["time_limit"] = max(1, math.ceil(min(own, seconds)))
        task = task_with(loaded.task, dataset=Wanted(), model=asked, early_stopping=None)
        failed: BaseException | None = None
        try:
            logs = await eval_async(
                task,
                model=asked,
                model_roles=roles,
                sandbox=loaded.sandbox or None,
                epochs=1,
                max_samples=_UNBOUNDED,
                max_connections=_UNBOUNDED,
                adaptive_connections=False,
                fail_on_error=False,
                log_dir=os.environ["INSPECT_LOG_DIR"],
                log_level="warning",
                log_samples=False,
                log_realtime=False,
                score_display=False,
                ctl_server=False,
                acp_server=False,
                **limits,
            )
            if logs and logs[0].error is not None:
                failed = RuntimeError(logs[0].error.message)
                print(logs[0].error.traceback, file=sys.stderr)
        except Exception as error:  # noqa: BLE001 -- foreign code
            failed = error
            traceback.print_exc()
        finally:
            self._add = None
            words = "Inspect ended the evaluation" + (f": {failed}" if failed else "")
            for play in loaded.playing.values():
                if not play.outcome.done():
                    play.outcome.set_exception(Failed(words, "environment_error"))


def framework() -> InspectTasks:
    """Return what speaks for Inspect."""
    return InspectTasks()


# The model and the hooks


def _register(guest: InspectTasks) -> None:
    from inspect_ai.hooks import Hooks, hooks
    from inspect_ai.model import get_model, modelapi

    nowhere = "http://127.0.0.1:9/v1"
    compatible: Any = type(get_model(f"openai-api/{PROVIDER}/model", base_url=nowhere, api_key="-").api)

    class Recorded(compatible):  # type: ignore[misc]
        """The model at the address of the calling episode. Our endpoint retries calls, so this does not."""

        def __init__(self, model_name: str, judging: bool = False, **given: Any) -> None:
            given |= {"base_url": nowhere, "api_key": "-"}
            super().__init__(f"{PROVIDER}/{model_name}", **given)
            self._judging = judging or model_name == JUDGE
            self._at: dict[tuple[str, str], Any] = {}

        async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:
            play = guest.playing()
            if play is None:
                raise RuntimeError("a model was called outside of a sample; only calls of samples can be recorded")
            judged = play.judge is not None and (self._judging or play.scoring)
            reached: Mapping[str, Any] = play.judge if judged and play.judge is not None else play.model
            at = (reached["base_url"], reached["model"])
            if at not in self._at:
                given = {"base_url": at[0], "api_key": "-", "memoize": False}
                self._at[at] = get_model(f"openai-api/{PROVIDER}/{at[1]}", **given).api
            headers = {**(config.extra_headers or {}), "Authorization": f"Bearer {reached['key']}"}
            config = config.model_copy(update={"extra_headers": headers})
            return await self._at[at].generate(input, tools, tool_choice, config)

        def should_retry(self, ex: Any) -> bool:
            del ex
            return False

        def is_auth_failure(self, ex: Any) -> bool:
            del ex
            return False

    @modelapi(name=PROVIDER)
    def provider() -> Any:
        return Recorded

    @hooks(name="mesocosm", description="Passes events and outcomes of samples on to mesocosm.")
    class Watching(Hooks):  # type: ignore[misc]
        async def on_sample_scoring(self, data: Any) -> None:
            del data
            play = guest.playing()
            if play is not None:
                play.scoring = True

        async def on_sample_event(self, data: Any) -> None:
            play = guest.playing()
            if play is not None:
                _trace(play.tell, data.event)

        async def on_sample_end(self, data: Any) -> None:
            play = guest.playing()
            if play is not None and not play.outcome.done():
                play.outcome.set_result(data.sample)


def _interrupt(sample: str, epoch: int) -> None:
    """Cancel a sample whose episode is no longer wanted."""
    from inspect_ai.log._samples import active_samples

    for active in active_samples():
        if (str(active.sample.id), active.epoch) == (sample, epoch):
            active.interrupt("cancel")


# Loading


@contextlib.contextmanager
def _without_tasks() -> Iterator[None]:
    """Let Inspect load hooks and providers of packages, but not all the tasks of inspect_evals: that takes seconds."""
    from inspect_ai._util import entrypoints

    for point in _points():
        if _package(point) != "inspect_evals":
            try:
                point.load()
            except Exception as error:  # noqa: BLE001 -- foreign code
                print(f"{point.value} cannot be loaded: {error}", file=sys.stderr)
    before, entrypoints._inspect_ai_eps_loaded_all = entrypoints._inspect_ai_eps_loaded_all, True
    try:
        yield
    finally:
        entrypoints._inspect_ai_eps_loaded_all = before


def _import(source: str) -> None:
    """Import the module of one task of a package, so that the others need not be."""
    package, _, name = source.partition("/")
    for point in _points():
        if _package(point) == package and (module := _exported(point.value).get(name)):
            try:
                importlib.import_module(module)
            except Exception:  # noqa: BLE001 -- loading the task says why
                traceback.print_exc()


def _points() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group="inspect_ai"))


def _package(point: Any) -> str:
    return str(point.value).partition(":")[0].partition(".")[0]


def _exported(module: str) -> dict[str, str]:
    """Return the modules from which a module imports names, by name; it is not imported itself."""
    package, *rest = module.partition(":")[0].split(".")
    spec = find_spec(package)
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        file = Path(place, *rest).with_suffix(".py") if rest else Path(place) / "__init__.py"
        if file.is_file():
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
            return {
                alias.asname or alias.name: ("." * node.level and f"{package}.") + (node.module or "")
                for node in tree.body
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
    return {}


def _load(source: str, args: Fields) -> Loaded:
    # load_tasks is no public name; `inspect eval` finds tasks by it.
    from inspect_ai._eval.loader import load_tasks

    path, at, name = source.partition("@")
    if at or path.endswith(".py") or Path(path).exists():
        named = [one for function in _task_functions(Path(path)) for one in _names_of(function)]
        if not Path(path).exists() or (at and named and name not in named):
            raise Failed(_unknown(source))
    else:
        _import(source)
    roles = [role.strip() for role in str(args.pop(ROLES, "")).split(",") if role.strip()]
    parameters = _parameters(source)
    limits = {
        name: args.pop(name) for name in LIMITS if name in args and (parameters is None or name not in parameters)
    }
    sandbox = ""
    if SANDBOX in args:
        sandbox = str(args[SANDBOX])
        if parameters is None or SANDBOX not in parameters:
            del args[SANDBOX]
    unknown = [name for name in args if parameters is not None and name not in parameters]
    if unknown:
        known = ", ".join(parameters or ()) or "none"
        raise Failed(f"it has no parameter {unknown[0]!r}; its parameters are: {known}")
    try:
        tasks = load_tasks([source], args)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise Failed(_unloadable(source, error)) from error
    if not tasks:
        raise Failed(_unknown(source))
    if len(tasks) > 1:
        names = sorted(task.name.rpartition("/")[2] for task in tasks)
        raise Failed(f"it has {len(tasks)} tasks ({', '.join(names)}); name one, as in {source}@{names[0]}")
    task = tasks[0]
    if getattr(task, "sample_source", None) is not None:
        raise Failed("its samples are made while it runs, and cannot be listed before")
    if not task.scorer:
        raise Failed("it has no scorer, so there would be nothing to measure")
    samples = [sample.model_copy() for sample in task.dataset]
    for place, sample in enumerate(samples):
        if sample.id is None:
            sample.id = place + 1
    _check_names(samples)
    if sandbox:
        for sample in samples:
            if sample.sandbox is not None and sample.sandbox.type != sandbox:
                sample.sandbox = None
    metrics, scorers = _metrics(task)
    contents = [_content(sample) for sample in samples]
    roles = sorted({"grader", "judge", *roles, *_roles_in(_files(source, task)), *(task.model_roles or {})})
    return Loaded(task, samples, contents, metrics, scorers, roles, limits, sandbox)


def _check_names(samples: Iterable[Any]) -> None:
    seen: set[str] = set()
    for sample in samples:
        if str(sample.id) in seen:
            raise Failed(f"two of its samples have the id {sample.id!r}")
        seen.add(str(sample.id))


def _registered(source: str) -> Any:
    """Return the function of a task of a package, or None."""
    if "@" in source or source.endswith(".py") or Path(source).exists():
        return None
    from inspect_ai._util.registry import registry_lookup

    return registry_lookup("task", source)


def _parameters(source: str) -> list[str] | None:
    """Return the names of a task's parameters; None if they are not known, or any is taken."""
    import inspect as reflection

    from inspect_ai.util import registry_info

    found = _registered(source)
    if found is None:
        return _parameters_in(source)
    try:
        signature = reflection.signature(reflection.unwrap(found)).parameters.values()
        if any(one.kind is one.VAR_KEYWORD for one in signature):
            return None
    except (TypeError, ValueError):
        pass
    return list(registry_info(found).metadata.get("params", []))


def _parameters_in(source: str) -> list[str] | None:
    """Return the parameters of a task in a file, read without running it."""
    path, _, name = source.partition("@")
    for function in _task_functions(Path(path)):
        if not name or name in _names_of(function):
            if function.args.kwarg is not None:
                return None
            return [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return None


def _unloadable(source: str, error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and _registered(source) is None and error.filename in (None, source):
        return _unknown(source)
    if "not found" in str(error) and _registered(source) is None and not Path(source.partition("@")[0]).exists():
        return _unknown(source)
    words = str(error).strip().partition("\n")[0] or "no message"
    return words if type(error).__name__ in {"PrerequisiteError", "SystemExit"} else f"{type(error).__name__}: {words}"


def _unknown(source: str) -> str:
    """Return a sentence about a name that means no task."""
    path, _, name = source.partition("@")
    if Path(path).exists():
        named = [one for function in _task_functions(Path(path)) for one in _names_of(function)]
        inside = f"; it has {', '.join(named)}" if named else ""
        return f"there is no task {name!r} in {path}{inside}" if name else f"{path} has no function with @task"
    if path.endswith(".py"):
        return f"there is no file {path}"
    package = source.partition("/")[0]
    known = [entry["id"] for entry in _entries(package)]
    if not known:
        return f"no package called {package!r} with tasks of Inspect is installed, and there is no such file"
    near = difflib.get_close_matches(source, known, 1, 0.6)
    return f"{package} has no task of that name" + (f"; did you mean {near[0]}?" if near else "")


def _files(source: str, task: Any) -> list[Path]:
    """Return the files with the code of a task: those of its folder in a package, or its file."""
    import inspect as reflection

    found = _registered(source)
    if found is not None:
        file = reflection.getsourcefile(reflection.unwrap(found))
        module = getattr(found, "__module__", "") or ""
        if file is None:
            return []
        # The folder below the package: PACKAGE/EVAL/….
        folder = Path(file).parent
        for _ in range(max(0, module.count(".") - 2)):
            folder = folder.parent
        return sorted(folder.rglob("*.py"))[:_MOST_FILES]
    path = Path(source.partition("@")[0])
    if path.is_dir():
        return sorted(path.glob("*.py"))[:_MOST_FILES]
    return [path] if path.is_file() else []


def _roles_in(files: Iterable[Path]) -> set[str]:
    """Return the roles that code asks models for: `get_model(role=…)`, `model_role=…`."""
    found: set[str] = set()
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "role" not in text:
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for keyword in node.keywords:
                named = keyword.arg == "model_role" or (keyword.arg == "role" and called == "get_model")
                if named and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    found.add(keyword.value.value)
    return found


def _content(sample: Any) -> Fields:
    """Return a sample as JSON, without the ids that messages get by chance."""
    content: Fields = sample.model_dump(mode="json", exclude_none=True, fallback=repr)
    if isinstance(content.get("input"), list):
        for message in content["input"]:
            message.pop("id", None)
    return content


def _code(source: str) -> str:
    """Return the digest of a task's own code, for files and folders of the user; packages have versions."""
    path = Path(source.partition("@")[0])
    files = sorted(path.rglob("*.py"))[:_MOST_FILES] if path.is_dir() else [path] if path.is_file() else []
    return digest(*files)


def _distributions(source: str) -> list[str]:
    from importlib.metadata import packages_distributions

    package = source.partition("/")[0]
    return packages_distributions().get(package, []) if "@" not in source and not Path(source).exists() else []


def _name(source: str, task: Any) -> str:
    return source if _registered(source) is not None else str(task.name)


def _version(task: Any, packages: Mapping[str, str]) -> str:
    own = str(task.version) if task.version else ""
    return own if own not in {"", "0"} else packages.get("inspect_evals", packages.get("inspect_ai", "unknown"))


def _described_as(source: str, task: Any) -> tuple[str, str]:
    """Return title and description: those of the package's `eval.yaml`, else of the task and its function."""
    import inspect as reflection

    title = str(getattr(task, "display_name", None) or task.name)
    found = _registered(source)
    if found is None:
        return title, ""
    file = reflection.getsourcefile(reflection.unwrap(found))
    package = source.partition("/")[0]
    for folder in Path(file).parents if file else ():
        if folder.name == package:
            break
        for entry in _described(package, [folder / "eval.yaml"], ""):
            if entry["id"] == source:
                return str(entry["title"]), str(entry["description"])
    return title, (reflection.getdoc(found) or "").partition("\n\n")[0]


def _needs(loaded: Loaded) -> list[str]:
    if loaded.sandbox:
        return ["docker"] if loaded.sandbox == "docker" else []
    sandboxes = [loaded.task.sandbox, *(sample.sandbox for sample in loaded.samples)]
    return ["docker"] if any(one is not None and one.type == "docker" for one in sandboxes) else []


def _labels(samples: list[Any]) -> list[dict[str, str]]:
    """Return for each sample those facts of its metadata that have few values: results are grouped by them."""
    values: dict[str, set[str]] = {}
    for sample in samples:
        for name, value in (sample.metadata or {}).items():
            short = isinstance(value, str | bool | int) and len(str(value)) <= _LONGEST_LABEL
            values.setdefault(name, set()).add(str(value) if short else "\0")
    most = min(_MOST_LABELS, len(samples) // 2)
    kept = {name for name, seen in values.items() if 2 <= len(seen) <= most and "\0" not in seen}
    return [{name: str(value) for name, value in (sample.metadata or {}).items() if name in kept} for sample in samples]


# Metrics


def _metrics(task: Any) -> tuple[list[Fields], list[str]]:
    """Return the metrics that are known before a run, and the names of the scorers as Inspect gives them."""
    from inspect_ai.util import registry_info

    found: list[Fields] = []
    names: list[str] = []
    for scorer in task.scorer:
        info = registry_info(scorer)
        base = info.name.rpartition("/")[2]
        name, count = base, 1
        while name in names:
            name, count = f"{base}{count}", count + 1
        names.append(name)
        declared = info.metadata.get("metrics") or []
        scalar = {_metric_name(one) for one in declared if not isinstance(one, Mapping)}
        parts: dict[str, set[str]] = {}
        for one in [declared] if isinstance(declared, Mapping) else declared:
            if isinstance(one, Mapping):
                for key, metrics in one.items():
                    parts[key] = {_metric_name(metric) for metric in metrics}
        if any("*" in key for key in parts) or (not parts and not scalar & _MEANS):
            parts = {key: set() for key in _keys(scorer)}
        for key, metrics in parts.items():
            found.append(_mean(f"{name}.{key}", metrics))
        if not parts:
            found.append(_mean(name, scalar))
    headline = getattr(task, "headline_metric", None)
    wanted = getattr(headline, "scorer", None)
    first = next((one for one in found if wanted and one["name"].partition(".")[0] == wanted), None)
    if found:
        (first or found[0])["primary"] = True
    return found, names


_MEANS = {"accuracy", "mean", "grouped"}


def _mean(name: str, metrics: set[str]) -> Fields:
    mean: Fields = {"name": name, "score": name}
    if "accuracy" in metrics:
        return mean | {"low": 0.0, "high": 1.0}
    return mean if metrics & _MEANS else mean | {"directed": False}


def _metric_name(metric: Any) -> str:
    from inspect_ai.util import registry_info

    try:
        return str(registry_info(metric).name).rpartition("/")[2]
    except (ValueError, AttributeError, KeyError):
        return ""


def _keys(scorer: Any) -> list[str]:
    """Return the keys of the objects that a scorer gives, if its code names them: `Score(value={"a": …})`."""
    import inspect as reflection
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(reflection.getsource(reflection.unwrap(scorer))))
    except (OSError, TypeError, SyntaxError):
        return []
    keys: dict[str, None] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != "Score":
            continue
        for keyword in node.keywords:
            if keyword.arg == "value" and isinstance(keyword.value, ast.Dict):
                for key in keyword.value.keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        keys[key.value] = None
    return list(keys)


# Outcomes


def _ended(sample: Any, loaded: Loaded) -> Fields:
    """Return the end of an episode. Raises Failed if the sample did."""
    graded = _graded(sample, loaded)
    if sample.error is not None:
        where = _where(sample.events)
        if where != "scorers":
            # Of a program that failed, the host may find that its model is to blame.
            cause = "program_failed" if where == "solvers" else "environment_error"
            raise Failed(_first(sample.error.message), cause, _last(sample.error.traceback))
        known = {score["name"] for score in graded if score["value"] is not None}
        lacking = [metric["score"] for metric in loaded.metrics if metric["score"] not in known]
        words = _first(sample.error.message)
        graded = [score for score in graded if score["name"] in known]
        graded += [{"name": name, "value": None, "missing": "grader_error", "explanation": words} for name in lacking]
    info: Fields = {"sample": sample.id, "epoch": sample.epoch}
    if sample.total_time is not None:
        info["seconds"] = round(sample.total_time, 3)
    if sample.working_time is not None:
        info["working_seconds"] = round(sample.working_time, 3)
    if sample.error is not None:
        info["scorer_error"] = {"message": _first(sample.error.message), "detail": _last(sample.error.traceback)}
    status = "completed"
    if sample.limit is not None:
        info["limit"] = {"type": sample.limit.type, "limit": sample.limit.limit}
        status = "timeout" if sample.limit.type in {"time", "working"} else "truncated"
    if not graded:
        info["unscored"] = "no scorer gave a score"
    return {"status": status, "scores": graded, "answer": _conversation(sample), "info": info}


def _graded(sample: Any, loaded: Loaded) -> list[Fields]:
    """Return the scores of a sample, those of declared metrics first; what has no number is missing."""
    found: dict[str, Fields] = {}
    target = sample.target or None
    for scorer, score in (sample.scores or {}).items():
        told = {
            "explanation": _text(score.explanation or ""),
            "answer": score.answer,
            "expected": target,
        }
        for name, value in _values(scorer, score.value):
            number, cause = _number(value)
            raw = {} if number is not None else {"explanation": told["explanation"] or f"the value is {value!r:.200}"}
            found[name] = {"name": name, "value": number, "missing": cause, **told, **raw}
    declared = [metric["score"] for metric in loaded.metrics]
    first = sorted(loaded.metrics, key=lambda metric: not metric.get("primary"))
    for name in declared:
        found.setdefault(name, {"name": name, "value": None, "missing": "value_missing", "expected": target})
    order = [metric["score"] for metric in first]
    return [found[name] for name in (*order, *(name for name in found if name not in declared))]


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield f"{scorer}.{key}", part
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield f"{scorer}.{place}", part
    else:
        yield scorer, value


def _number(value: Any) -> tuple[float | None, str]:
    """Return a value as the number that Inspect's metrics read, or the cause why there is none.

    Inspect itself takes texts without a meaning for 0; here they are missing.
    """
    if isinstance(value, str):
        known = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}.get(value)
        word = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}.get(value.lower())
        number = known if known is not None else word if word is not None else finite(value)
        return number, "" if number is not None else "value_unusable"
    number = finite(value)
    return number, "" if number is not None else "value_missing"


def _where(events: Iterable[Any]) -> str:
    """Return the part of the sample in which it failed: `init`, `solvers` or `scorers`."""
    found = "init"
    for event in events:
        if event.event == "span_begin" and event.name in {"solvers", "scorers"} and event.parent_id is None:
            found = event.name
        elif event.event == "error":
            break
    return found


def _conversation(sample: Any) -> Fields:
    """Return the messages as people read them, and the last completion where no message holds it."""
    messages: list[Fields] = []
    for message in sample.messages:
        said: Fields = {"role": message.role, "content": _text(message.text)}
        calls = getattr(message, "tool_calls", None)
        if calls:
            said["tool_calls"] = [{"name": call.function, "arguments": call.arguments} for call in calls]
        messages.append(said)
    completion = sample.output.completion if sample.output is not None else ""
    if completion and not any(said["role"] == "assistant" and said["content"] == completion for said in messages):
        return {"messages": messages, "completion": _text(completion)}
    return {"messages": messages}


def _trace(tell: Tell, event: Any) -> None:
    """Tell what did not pass the model endpoint: calls of tools, work in the sandbox, limits, notes."""
    if getattr(event, "pending", None):
        return
    if event.event == "tool":
        called: Fields = {"name": event.function, "arguments": event.arguments, "result": _result(event.result)}
        if event.error is not None:
            called["error"] = f"{event.error.type}: {event.error.message}"
        if event.working_time is not None:
            called["seconds"] = round(event.working_time, 3)
        tell("tool_call", called)
    elif event.event == "sandbox":
        what = {"action": event.action, "command": event.cmd, "file": event.file, "code": event.result}
        shown = {name: value for name, value in what.items() if value is not None}
        tell("log", {"stream": "sandbox", "message": _text(event.output or event.action), **shown})
    elif event.event == "sample_limit":
        tell("log", {"stream": "limit", "message": event.message})
    elif event.event == "info":
        tell("log", {"stream": "info", "message": _text(str(event.data))})
    elif event.event == "error":
        tell("log", {"stream": "error", "message": _text(event.error.message)})


def _result(result: Any) -> Any:
    if isinstance(result, str):
        return _text(result)
    parts = result if isinstance(result, list) else [result]
    texts = [getattr(part, "text", None) or getattr(part, "type", None) or str(part) for part in parts]
    return _text("\n".join(str(text) for text in texts))


def _text(text: str) -> str:
    """Return a text short enough for a trace."""
    if len(text) <= _LONGEST_TEXT:
        return text
    half = _LONGEST_TEXT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def _first(text: str) -> str:
    return text.strip().partition("\n")[0][:2_000]


def _last(text: str) -> str:
    return text[-_MOST_FRAMES:]


# The catalogue


def _entries(package: str) -> Iterator[Fields]:
    """Yield the tasks of a package: from the descriptions of inspect_evals, else from functions with `@task`."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        root = Path(place)
        licence = _licence(package)
        seen: set[str] = set()
        for entry in _described(package, sorted(root.glob("*/eval.yaml")), licence):
            seen.add(entry["id"])
            yield entry
        for file in sorted(root.rglob("*.py")):
            for function in _task_functions(file):
                name = f"{package}/{_names_of(function)[0]}"
                if name not in seen:
                    seen.add(name)
                    words = ast.get_docstring(function) or ""
                    yield _entry(name, function.name.replace("_", " "), words.partition("\n\n")[0], licence)


def _described(package: str, files: Iterable[Path], licence: str) -> Iterator[Fields]:
    """Yield what files `eval.yaml` say, one for each evaluation with any number of tasks."""
    for file in files:
        if not file.is_file():
            continue
        import yaml

        try:
            told = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        except (OSError, yaml.YAMLError):
            continue
        if not isinstance(told, dict):
            continue
        facts = told.get("metadata") or {}
        needs = ["docker"] if facts.get("sandbox") else []
        if told.get("dependency"):
            needs.append(f"{package}[{told['dependency']}]")
        assets = told.get("external_assets") or []
        if any(isinstance(one, dict) and one.get("type") in {"huggingface", "direct_url"} for one in assets):
            needs.append("download")
        tags = [str(told["group"])] if told.get("group") else []
        tags += [str(tag) for tag in told.get("tags") or []]
        for task in told.get("tasks") or []:
            if isinstance(task, dict) and task.get("name"):
                name = f"{package}/{task['name']}"
                words = str(task.get("description") or told.get("description") or "").strip()
                entry = _entry(name, str(told.get("title") or task["name"]), words, licence)
                count = task.get("dataset_samples")
                yield entry | {"tasks": count if isinstance(count, int) else None, "needs": needs, "tags": tags}


def _entry(name: str, title: str, description: str, licence: str) -> Fields:
    return {
        "id": name,
        "title": title,
        "description": " ".join(description.split()),
        "tasks": None,
        "needs": [],
        "licence": licence,
        "tags": [],
        "run": f"inspect:{name}",
    }


def _licence(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        told = metadata(package)
    except PackageNotFoundError:
        return ""
    named = str(told.get("License-Expression") or told.get("License") or "").strip()
    return named.partition("\n")[0][:80]


def _task_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the functions with `@task` of a file, or of the files of a folder; none of them is run."""
    files = sorted(path.glob("*.py")) if path.is_dir() else [path] if path.is_file() else []
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "@task" not in text:
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and any(_is_task(one) for one in node.decorator_list):
                yield node


def _is_task(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == "task"


def _names_of(function: ast.FunctionDef) -> list[str]:
    """Return the name of a task: that of its decorator, else of its function."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _is_task(decorator):
            for keyword in decorator.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    return [str(keyword.value.value)]
    return [function.name]
