"""Load tasks of lm-evaluation-harness and set them up as its own runner does."""

import difflib
import fnmatch
import functools
import json
import random
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from . import Failed, versions
from .lm_eval_answers import longest, stops
from .lm_eval_index import TaskNames
from .lm_eval_windows import SHORTEST, Windows

GENERATE, CHOICE = "generate_until", "multiple_choice"
_ALLOWED = {
    "api": ("chat", "completions"),
    "choices": ("logprobs", "generate"),
    "tokenizer_backend": ("huggingface", "tiktoken"),
}
_SEED = 1234
_MOST_TEMPLATES = 1024
"""Some tasks make templates of their documents, so that not all can be kept."""
_ESCAPED = frozenset({"prefix_token", "system_instruction", "think_end_token"})
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


@dataclass(frozen=True)
class LmEvalArguments:
    """The arguments of a run. Those that its command line has too are called as there.

    `api` is how texts are asked for (`chat` or `completions`). `choices` is how tasks with choices are asked:
    by `logprobs`, or as a question with letters (`generate`). With a `tokenizer`, texts are cut to `max_length` tokens;
    these and the three below them are called as in `--model_args` of `local-completions`.
    """

    num_fewshot: int | None = None
    limit: int | None = None
    api: str = "chat"
    choices: str = "logprobs"
    apply_chat_template: bool | None = None
    fewshot_as_multiturn: bool = True
    system_instruction: str | None = None
    gen_kwargs: dict[str, Any] = field(default_factory=dict)
    include_path: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    seed: int = _SEED
    prefix_token: str = ""
    tokenizer: str = ""
    max_length: int | None = None
    tokenizer_backend: str = "huggingface"
    tokenized_requests: bool = True
    add_bos_token: bool = False
    custom_prefix_token_id: int | None = None
    think_end_token: str = ""
    confirm_run_unsafe_code: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """Those that decide what is asked and how it is scored; a folder counts by its tasks."""
        usual = LmEvalArguments()
        found = {name: value for name, value in asdict(self).items() if value != getattr(usual, name)}
        return {name: value for name, value in found.items() if name not in {"include_path", "limit"}}


def read_arguments(given: Mapping[str, Any]) -> LmEvalArguments:
    """Return the arguments in `-P name=value`. Raises Failed."""
    kinds = {one.name: one.type for one in fields(LmEvalArguments)}
    known = {name: kind.__name__ if isinstance(kind, type) else str(kind) for name, kind in kinds.items()}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(known)}"
            raise Failed(f"there is no argument {name!r}{hint}", "environment_invalid")
    read = LmEvalArguments(**{name: _value(name, known[name], value) for name, value in given.items()})
    for name, allowed in _ALLOWED.items():
        if getattr(read, name) not in allowed:
            raise Failed(f"{name}={getattr(read, name)!r} is not {' or '.join(allowed)}", "environment_invalid")
    _check_windows(read)
    if read.api == "completions" and read.apply_chat_template:
        raise Failed(
            "apply_chat_template=true needs api=chat: only the server knows the template of its model",
            "environment_invalid",
        )
    return read


def _check_windows(read: LmEvalArguments) -> None:
    """Check the arguments about tokens. Raises Failed."""
    if not read.tokenizer and read.max_length is not None:
        raise Failed("max_length= counts tokens; name the tokenizer, too: tokenizer=NAME", "environment_invalid")
    if read.tokenizer and read.prefix_token:
        raise Failed(
            "tokenizer= knows what stands before a text; it is not prefix_token= but custom_prefix_token_id=NUMBER",
            "environment_invalid",
        )
    if read.max_length is not None and read.max_length < SHORTEST:
        raise Failed(f"max_length={read.max_length} is less than {SHORTEST}", "environment_invalid")


def windows_of(given: LmEvalArguments) -> Windows | None:
    """Return what cuts texts to the length of the model; None if its tokenizer is not named. Raises Failed."""
    if not given.tokenizer:
        return None
    names = ("tokenizer", "tokenizer_backend", "tokenized_requests", "add_bos_token", "custom_prefix_token_id")
    length = {} if given.max_length is None else {"max_length": given.max_length}
    return Windows(**{name: getattr(given, name) for name in names}, **length)


def _value(name: str, form: str, value: Any) -> Any:
    try:
        if value is None or not isinstance(value, str):
            return [value] if form.startswith("list") and not isinstance(value, list) else value
        if form.startswith("int"):
            return int(value)
        if form.startswith("bool"):
            return _truth(value)
        if form.startswith("list"):
            return [part for part in value.split(",") if part]
        if form.startswith("dict"):
            return json.loads(value) if value.lstrip().startswith("{") else _pairs(value)
    except ValueError as error:
        raise Failed(f"{name}={value!r} cannot be read: {error}", "environment_invalid") from error
    # A shell makes it hard to write the end of a line.
    return value.replace("\\n", "\n").replace("\\t", "\t") if name in _ESCAPED else value


def _truth(text: str) -> bool:
    if text.lower() not in _TRUE | _FALSE:
        raise ValueError("it is true or false")
    return text.lower() in _TRUE


def _pairs(text: str) -> dict[str, Any]:
    found = {}
    for pair in text.split(","):
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise ValueError(f"{pair!r} is not name=value")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = {"True": True, "False": False, "None": None}.get(value, value)
    return found


def version() -> str:
    """Return the version of the package."""
    return versions("lm_eval").get("lm_eval", "")


def manager_of(source: str, given: LmEvalArguments) -> tuple[Any, list[Any]]:
    """Return what knows all tasks, and what a source names among them. Raises Failed."""
    from lm_eval.tasks import TaskManager

    manager = TaskManager(
        include_defaults=False,
        include_path=[str(Path(one).expanduser()) for one in given.include_path] or None,
        metadata=given.metadata or None,
    )
    own = manager._index
    names = TaskNames(version())
    manager._index = names.index()
    manager._index.update(own)
    wanted: list[Any] = []
    for name in dict.fromkeys(_parts(source)):
        wanted += _matching(name, [*own, *names.entries], manager._index)
    return manager, wanted


def load_tasks(source: str, given: LmEvalArguments) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return tasks and groups by name, set up for the run. Raises Failed."""
    import numpy

    _compile_templates_once()
    # Some tasks shuffle their documents when they are loaded; the harness sets the same seeds.
    random.seed(0)
    numpy.random.seed(_SEED)
    manager, wanted = manager_of(source, given)
    try:
        loaded = manager.load(wanted)
    except ModuleNotFoundError as error:
        raise Failed(
            f"a task needs the package {error.name}; install it beside lm_eval", detail=_trace(error)
        ) from error
    except Exception as error:
        raise Failed(named(error), detail=_trace(error)) from error
    tasks, groups = dict(loaded["tasks"]), dict(loaded.get("groups") or {})
    if not tasks:
        raise Failed(f"{source} holds no task", "environment_invalid")
    for name, task in tasks.items():
        _check(name, task, given)
        _configure(task, given)
    return tasks, groups


def named_source(source: str) -> str:
    """Return a source with the names of files alone, since their folders are of this machine."""
    files = [Path(part).expanduser().is_file() for part in _parts(source)]
    if not any(files):
        return source
    return ",".join(Path(part).stem if file else part for part, file in zip(_parts(source), files, strict=True))


def _parts(source: str) -> list[str]:
    return [part.strip() for part in source.split(",") if part.strip()]


def _compile_templates_once() -> None:
    """Keep compiled templates: the harness compiles the same few anew for each document, which is most of its time."""
    from lm_eval import utils

    compiled = utils.env.from_string
    if not hasattr(compiled, "cache_info"):
        utils.env.from_string = functools.lru_cache(_MOST_TEMPLATES)(compiled)


def _matching(name: str, known: list[str], index: Mapping[str, Any]) -> list[str]:
    if name in index or Path(name).expanduser().is_file():
        return [name if name in index else str(Path(name).expanduser())]
    if any(mark in name for mark in "*?["):
        found = sorted({one for one in known if fnmatch.fnmatchcase(one, name)})
        if found:
            return found
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.7)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise Failed(f"there is no task called {name!r}{hint}", "environment_invalid")


def _check(name: str, task: Any, given: LmEvalArguments) -> None:
    if getattr(task, "UNSAFE_CODE", False) and not given.confirm_run_unsafe_code:
        raise Failed(
            f"{name} runs code that the model writes, on this machine; allow it with confirm_run_unsafe_code=true",
            "environment_invalid",
        )
    if getattr(task, "MULTIMODAL", False):
        raise Failed(f"{name} shows images or sounds, and only texts are asked here", "environment_invalid")
    if given.choices == "generate" and task.OUTPUT_TYPE not in {CHOICE, GENERATE}:
        raise Failed(
            f"{name} asks how probable texts are, without choices: choices=generate cannot help", "environment_invalid"
        )


def _configure(task: Any, given: LmEvalArguments) -> None:
    """Set up a task as `lm_eval.simple_evaluate` does."""
    if given.gen_kwargs and task.get_config("output_type") == GENERATE:
        task.set_config(key="generation_kwargs", value=dict(given.gen_kwargs), update=True)
    shots = task.get_config("num_fewshot")
    if given.num_fewshot is not None and shots != 0:
        task.set_config(key="num_fewshot", value=given.num_fewshot)
    elif shots is None:
        task.set_config(key="num_fewshot", value=0)
    task.set_fewshot_seed(seed=given.seed)


def build_requests(task: Any, given: LmEvalArguments, template: Callable[..., str]) -> list[tuple[int, Any, list[Any]]]:
    """Return number, document and requests of each document of a task. Raises Failed."""
    chat = is_chat(task, given)
    try:
        task.build_all_requests(
            limit=given.limit,
            rank=0,
            world_size=1,
            system_instruction=given.system_instruction,
            apply_chat_template=chat,
            fewshot_as_multiturn=given.fewshot_as_multiturn,
            chat_template=template if chat else None,
        )
    except Exception as error:
        raise Failed(
            f"the requests of {task.task_name} cannot be built: {named(error)}", detail=_trace(error)
        ) from error
    requests: dict[int, list[Any]] = {}
    for one in task.instances:
        requests.setdefault(one.doc_id, []).append(one)
    found = []
    for doc_id, doc in task.doc_iterator(rank=0, limit=given.limit, world_size=1):
        asked = sorted(requests.get(doc_id, ()), key=lambda one: one.idx)
        if not asked:
            raise Failed(f"{task.task_name} asks nothing about document {doc_id}", "environment_invalid")
        found.append((doc_id, doc, asked))
    return found


def is_chat(task: Any, given: LmEvalArguments) -> bool:
    """Return whether a task asks in conversations: where it wants texts, unless it builds requests in its own way."""
    from lm_eval.api.task import ConfigurableTask

    wanted = given.api == "chat" and given.apply_chat_template is not False
    usual = type(task).construct_requests is getattr(ConfigurableTask, "construct_requests", None)
    return bool(wanted and usual and task.OUTPUT_TYPE == GENERATE)


def facts_of(task: Any) -> dict[str, Any]:
    """Return what people want to know of a task, and what decides how it is scored."""
    config = task.config
    generation = dict(config.generation_kwargs or {}) if task.OUTPUT_TYPE == GENERATE else {}
    found = {
        "version": task.VERSION,
        "output_type": task.OUTPUT_TYPE,
        "dataset": "/".join(filter(None, (config.dataset_path, config.dataset_name))),
        "split": config.test_split or config.validation_split,
        "num_fewshot": config.num_fewshot,
        "repeats": config.repeats if (config.repeats or 1) > 1 else None,
        "metrics": list(task.aggregation()),
        "filters": [one.name for one in task._filters],
        "stop": stops(generation),
        "max_tokens": longest(generation) if generation else None,
        "temperature": generation.get("temperature") if generation.get("do_sample") else None,
    }
    return {name: value for name, value in found.items() if value not in (None, [], "")}


def named(error: BaseException) -> str:
    """Return the type and the first line of an error."""
    words = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-12:])
