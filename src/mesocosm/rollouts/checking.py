"""Check the content of each table of a configuration."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mesocosm.core.failure import InvalidInput, MesocosmError, UsageError
from mesocosm.core.model import MAX_TOKENS, ModelName
from mesocosm.core.reading import nearest
from mesocosm.datasets.reading import FORMATS
from mesocosm.rollouts.project import WorkspaceDirectory
from mesocosm.rollouts.section import Section, describe_value, kind
from mesocosm.rollouts.tables import Code, Columns, DatasetTable, Evaluation, Experiment, GraderTable, ModelTable

KEYS: Mapping[str, tuple[str, ...]] = {
    "experiment": ("rollout", "entrypoint", "model_path", "dataset", "branch", "commit_sha"),
    "evaluation": (
        *("limit", "sample", "seed", "offset", "n", "batch_size", "pass_threshold"),
        *("agent_workflow_timeout_s", "grader_timeout_s", "outage_seconds", "max_missing"),
    ),
    "dataset": ("columns", "revision", "split", "config", "format", "metadata"),
    "model": ("temperature", "max_tokens", "top_p", "base_url", "timeout_s", "judge", "reasoning_effort", "extra"),
    "secrets": ("required",),
}
"""The allowed keys of each table, for tables that have a fixed set."""

OWN = ("isolation", "workers")
"""The keys of [advanced] that have an effect here."""

ISOLATIONS = ("process", "in-process")
RESERVED = frozenset({"ROLLOUT_PORT"})
"""Names of environment variables that the run itself sets."""

LONGEST_S = 30 * 86_400
_COLUMNS = ("user_prompt", "system_prompt", "ground_truth", "metadata", "split")
_ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_SECRET_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,40}")
_NO_KEYS = "keys are not part of the file: set the variable of the provider, such as OPENAI_API_KEY"


def experiment(
    section: Section, workspace: WorkspaceDirectory, notes: list[str], *, check_out: bool = True
) -> Experiment:
    """Read [experiment]. Unless `check_out`, nothing is looked for at a configured commit or branch."""
    section.only(KEYS["experiment"], _homes("experiment"))
    branch, commit = _revision(section)
    code = _code(section, workspace, branch, commit, notes) if check_out else None
    elsewhere = bool(branch or commit) and not check_out
    rollout = section.text("rollout", required=True, fix="the name of a folder below rollouts/")
    place = WorkspaceDirectory(code.root) if code else workspace
    folder = _rollout(section, rollout, place) if rollout and not elsewhere else None
    entrypoint = section.text("entrypoint", required=True, fix='the file that starts it, such as "main.py"')
    if entrypoint and folder is not None:
        _entrypoint(section, entrypoint, folder)
    model = section.text("model_path", required=True, fix='a model as provider/name, such as "openai/gpt-5-mini"')
    _model_name(section, "model_path", model)
    dataset = section.text("dataset", required=True, fix="the name of a file in data/, without its ending")
    return Experiment(rollout, entrypoint, model, dataset, branch, commit, code)


def _revision(section: Section) -> tuple[str, str]:
    branch, commit = section.text("branch"), section.text("commit_sha")
    if re.search(r"\s", branch):
        section.blame("branch", f"{describe_value(branch)} has a space in it")
    if commit and not _COMMIT.fullmatch(commit):
        section.blame(
            "commit_sha",
            f"must be 7 to 40 hexadecimal digits, not {describe_value(commit)}",
            "see `git rev-parse HEAD`",
        )
    if branch and commit:
        section.blame("branch", "stands beside commit_sha, and only one of them can be meant", "remove one")
    return branch, commit


def _code(section: Section, workspace: WorkspaceDirectory, branch: str, commit: str, notes: list[str]) -> Code | None:
    """Return a copy of the workspace at the configured commit or branch; None if neither is set."""
    if section.problems or not (branch or commit):
        return None
    from mesocosm.rollouts.checkout import check_out

    key, value = ("commit_sha", commit) if commit else ("branch", branch)
    try:
        code = check_out(workspace.root, commit=commit, branch=branch)
    except UsageError as error:
        section.blame(key, str(error))
        return None
    notes.append(f"[experiment] {key}: the rollout's code is that of {value}, in {code.root}; files here are not used")
    return code


def _rollout(section: Section, name: str, workspace: WorkspaceDirectory) -> Path | None:
    if name in (".", "..") or "/" in name or "\\" in name:
        section.blame("rollout", f"must be the name of one folder below rollouts/, not {describe_value(name)}")
        return None
    folder = _resolved(workspace.rollouts / name)
    if folder is None or not folder.is_dir():
        near = nearest(name, workspace.names())
        fix = f"did you mean {near!r}?" if near else f"`mesocosm eval init {name}` makes one"
        section.blame("rollout", f"there is no folder {name!r} in {workspace.rollouts}", fix)
        return None
    if not folder.is_relative_to(workspace.rollouts.resolve()):
        section.blame(
            "rollout", f"{describe_value(name)} leads out of {workspace.rollouts}", "put the folder itself there"
        )
        return None
    return folder


def _entrypoint(section: Section, name: str, folder: Path) -> None:
    within = Path(os.path.normpath(folder / name)).is_relative_to(folder)
    file = _resolved(folder / name) if within else None
    if not within or (file is not None and not file.is_relative_to(folder)):
        section.blame(
            "entrypoint", f"{describe_value(name)} leads out of {folder}", "give a path inside of the rollout's folder"
        )
    elif file is None or not file.is_file():
        near = nearest(name, [item.name for item in folder.iterdir() if item.suffix == ".py"])
        section.blame("entrypoint", f"there is no file {name!r} in {folder}", f"did you mean {near!r}?" if near else "")


def _resolved(path: Path) -> Path | None:
    """Return `path` with links resolved, or None if it does not exist."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


def _model_name(section: Section, key: str, name: str) -> None:
    if not name:
        return
    try:
        ModelName.parse(name)
    except UsageError:
        fix = f'with its provider: "openai/{name}", say' if re.fullmatch(r"[\w.:-]+", name) else ""
        section.blame(
            key, f"must be a model as provider/name, not {describe_value(name)}", fix or 'such as "openai/gpt-5-mini"'
        )


def evaluation(section: Section, notes: list[str]) -> Evaluation:
    """Read [evaluation]."""
    section.only(KEYS["evaluation"], _homes("evaluation"))
    limit, everything = _limit(section, notes)
    sample = section.number("sample", None, low=0, high=1, above=True)
    if sample is not None and (limit is not None or everything):
        section.blame("sample", "stands beside limit, and only one of them can be meant", "remove one")
    return Evaluation(
        limit=limit,
        everything=everything,
        sample=sample,
        seed=section.whole("seed", None, low=0, high=2**63 - 1),
        offset=section.whole("offset", 0, low=0),
        n=section.whole("n", 1),
        batch_size=section.whole("batch_size", None),
        pass_threshold=section.number("pass_threshold", 1.0),
        agent_workflow_timeout_s=section.number("agent_workflow_timeout_s", 450.0, low=0, high=LONGEST_S, above=True),
        grader_timeout_s=section.number("grader_timeout_s", 150.0, low=0, high=LONGEST_S, above=True),
        outage_seconds=section.number("outage_seconds", None, low=0, high=LONGEST_S),
        max_missing=section.number("max_missing", None, low=0, high=1),
    )


def _limit(section: Section, notes: list[str]) -> tuple[int | None, bool]:
    value = section.raw.get("limit")
    if value == "all":
        return None, True
    if isinstance(value, str):
        section.blame("limit", f'must be a number of rows or "all", not {describe_value(value)}')
        return None, False
    number = section.whole("limit", None, low=-(2**31))
    if number is not None and number <= 0:
        notes.append(f'[evaluation] limit = {number} takes every row; limit = "all" says so')
        return None, True
    return number, False


def dataset(section: Section) -> DatasetTable:
    """Read [dataset]."""
    section.only(KEYS["dataset"], _homes("dataset"))
    return DatasetTable(
        columns=_columns(section.table("columns")),
        revision=section.text("revision"),
        split=section.text("split"),
        config=section.text("config"),
        format=section.word("format", FORMATS),
        metadata=section.flag("metadata", default=True),
    )


def _columns(section: Section) -> Columns:
    section.only(_COLUMNS)
    usual = Columns()
    truth = section.raw.get("ground_truth")
    names = usual.ground_truth
    if isinstance(truth, list):
        if truth and all(isinstance(name, str) and name.strip() for name in truth):
            names = tuple(truth)
        else:
            section.blame("ground_truth", "must be the name of a column, or a list of names")
    elif name := section.text("ground_truth"):
        names = (name,)
    return Columns(
        user_prompt=section.text("user_prompt", usual.user_prompt),
        system_prompt=section.text("system_prompt", usual.system_prompt),
        ground_truth=names,
        metadata=section.text("metadata", usual.metadata),
        # Empty: the column of that name is one like others.
        split="" if section.raw.get("split") == "" else section.text("split", usual.split),
    )


def grader(section: Section) -> GraderTable:
    """Read [grader]: `use` names a ready-made grader, every other key is one of its options."""
    from mesocosm.rollouts.graders.catalogue import open_grader

    use = section.text("use", required=True, fix='the name of a ready-made grader, such as use = "numeric"')
    options = {key: value for key, value in section.raw.items() if key != "use"}
    if not use:
        return GraderTable(use, options)
    for key in options.keys() & {"self", "config"}:
        # They would collide with the parameters of the Python function.
        section.blame(key, "there is no such option")
    try:
        open_grader(use, {key: value for key, value in options.items() if key not in ("self", "config")})
    except InvalidInput as error:
        for problem in error.problems:
            section.blame(problem.path, problem.message, problem.fix)
    except MesocosmError as error:
        section.blame("use", str(error))
    return GraderTable(use, options)


def model(section: Section, model_path: str) -> ModelTable:
    """Read [model]."""
    section.only(KEYS["model"], {**_homes("model"), "api_key": _NO_KEYS, "api_key_env": _NO_KEYS, "key": _NO_KEYS})
    base_url = section.text("base_url")
    if base_url and not re.fullmatch(r"https?://\S+", base_url):
        section.blame("base_url", "must be an address that starts with http:// or https://")
    elif base_url and "@http" in model_path:
        section.blame("base_url", "stands beside an address in [experiment] model_path", "remove one")
    judge = section.text("judge")
    _model_name(section, "judge", judge)
    return ModelTable(
        temperature=section.number("temperature", 0.0, low=0),
        max_tokens=section.whole("max_tokens", MAX_TOKENS),
        top_p=section.number("top_p", None, low=0, high=1, above=True),
        base_url=base_url.rstrip("/"),
        timeout_s=section.number("timeout_s", 120.0, low=0, high=LONGEST_S, above=True),
        judge=judge,
        reasoning_effort=section.text("reasoning_effort"),
        extra=dict(section.table("extra").raw),
    )


def advanced(section: Section, notes: list[str]) -> Mapping[str, Any]:
    """Read [advanced]. All keys are kept; only those in `OWN` have an effect here."""
    section.word("isolation", ISOLATIONS)
    section.whole("workers", None, high=1024)
    idle = [key for key in section.raw if key not in OWN]
    if idle:
        notes.append(f"[advanced] {', '.join(idle)}: kept for servers; no effect on this machine")
    return dict(section.raw)


def env(section: Section) -> Mapping[str, str]:
    """Read [env]. Messages never repeat a value: it may be a misplaced secret."""
    found = {}
    for name, value in section.raw.items():
        if not _ENV_NAME.fullmatch(name):
            section.blame(name, "is not a name for a variable", "capital letters, digits and _; no digit first")
        elif name.startswith("_OSMOSIS_") or name in RESERVED:
            section.blame(name, "is set by the run itself", "choose another name")
        elif not isinstance(value, str):
            section.blame(name, f"must be a string, not {kind(value)}", "put it into quotes")
        elif "\0" in value:
            section.blame(name, "has a NUL character in it")
        else:
            found[name] = value
    return found


def secrets(section: Section, variables: Mapping[str, Any]) -> tuple[str, ...]:
    """Read [secrets]: the names of variables whose values come from outside the file."""
    for key in section.raw:
        if key != "required":
            section.blame(key, "is not a known key", 'list the names: required = ["NAME"]; values stay out of the file')
    names = section.raw.get("required", [])
    if not isinstance(names, list):
        section.blame("required", f"must be a list of names, not {kind(names)}", 'such as required = ["API_KEY"]')
        return ()
    found: list[str] = []
    for place, name in enumerate(names):
        fault = _secret_fault(name, found, variables)
        if fault:
            section.blame("required", f"entry {place + 1} {fault}")
        else:
            found.append(name)
    return tuple(found)


def _secret_fault(name: object, found: list[str], variables: Mapping[str, Any]) -> str:
    if not isinstance(name, str):
        return f"must be a string, not {kind(name)}"
    if not _SECRET_NAME.fullmatch(name):
        # Not repeated: it may be a secret value instead of a name.
        return "is not a name for a secret: a capital letter, then capital letters, digits and _"
    if name in found:
        return f"repeats {name}"
    if name in variables:
        return f"is {name}, which [env] sets"
    return f"is {name}, which the run sets itself" if name in RESERVED else ""


def _homes(but: str) -> dict[str, str]:
    """Return a hint for each key of another table: the table it belongs in."""
    return {
        key: f"it belongs into [{table}]"
        for table, keys in KEYS.items()
        for key in keys
        if table not in (but, "secrets")
    }
