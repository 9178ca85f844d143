"""Manifests: the file benchanything.json, which defines an environment."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.agents.technique import declared_params
from mesocosm.core.content import Content
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.folder import RESULTS, files_below
from mesocosm.core.info import VIEWS, View
from mesocosm.core.reading import format_value, join, not_an_object, unknown_keys
from mesocosm.core.scoring import ScoringConfig, read_scoring
from mesocosm.core.space import SpaceSpec, SpaceType
from mesocosm.core.vow import BindingVow, read_vow
from mesocosm.environments.document import read_json
from mesocosm.environments.plausibility import contract_problems

MANIFEST_NAME = "benchanything.json"
PLACES = (".", "auxiliary", "files")
"""Directories of a repository to search for a manifest; the first match is used."""
_OUTPUT = ("showcase", RESULTS, "data/traces")
"""Output directories of runs, relative to the manifest's directory."""

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""The form of a domain's id on a server."""
ID_FIX = "use letters, digits, dots, underscores and hyphens, beginning with a letter or a digit"

REQUIRED = ("adapter", "name", "binding_vow", "scoring")
_KNOWN = frozenset({*REQUIRED, "id", "description", "detail", "tags", "system_prompt", "view"})
_HARMLESS = frozenset(
    "version domain_id env scenarios episode_detail action_rules step_response traits termination ranking world "  # noqa: SIM905
    "showcase text author authors license homepage repository notes comment metadata".split()
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An environment as described by its author. `adapter` is the absolute path of the script to start.

    `adapter` is None if the environment is already served elsewhere and only its document is known; then `path` is the
    name of its source. `id` is the given one, otherwise the name of the repository's directory. `raw` is the document
    as written.
    """

    path: Path
    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    adapter: Path | None
    vow: BindingVow
    scoring: ScoringConfig
    system_prompt: str = ""
    view: View | None = None
    raw: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()


def find_manifest(directory: Path) -> Path:
    """Return the path of a repository's manifest. Raise UsageError, with the searched paths, if there is none."""
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory; name the directory of an environment")
    tried = [directory / place / MANIFEST_NAME for place in PLACES]
    found = next((path for path in tried if path.is_file()), None)
    if found is None:
        places = "\n".join(f"  {path}" for path in tried)
        raise UsageError(
            f"no manifest in {directory}; searched\n{places}\n"
            f"  → run `mesocosm init --dir DIR` to make a new environment, or name the file with --manifest"
        )
    return found


def other_manifests(path: Path) -> Iterator[Problem]:
    """Warn if the repository of the manifest at `path` has others; name the one used by default.

    The order is that of PLACES, as in the original program and on a server.
    """
    directory = path.absolute().parent
    if path.name != MANIFEST_NAME:
        return
    root = directory.parent if directory.name in PLACES else directory
    found = [root / place / MANIFEST_NAME for place in PLACES if (root / place / MANIFEST_NAME).is_file()]
    # A repository's own folder may be called files.
    if directory / MANIFEST_NAME not in found or len(found) < 2:
        return
    names = [place.relative_to(root).as_posix() for place in found]
    message = f"the repository has {len(found)} manifests ({', '.join(names)}); where none is named, {names[0]} counts"
    yield Problem("", message, "keep one of them", "warning")


def load_manifest(path: Path, *, domain_id: str | None = None) -> Manifest:
    """Read the manifest at `path` (a file, or a directory to search). `domain_id` overrides the id.

    Raise UsageError if the file cannot be read, InvalidInput with all problems if it breaks the rules.
    """
    path = find_manifest(path) if path.is_dir() else path
    raw, notes = read_json(path, "manifest")
    problems = [*other_manifests(path), *notes, *manifest_problems(raw, path.parent)]
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors or not isinstance(raw, dict):
        raise InvalidInput(f"manifest {path}", errors)
    adapter = resolve_adapter(raw["adapter"], path.parent)
    return _manifest(path.absolute(), raw, adapter, domain_id, tuple(problems))


def served_manifest(name: str, raw: Mapping[str, Any], *, domain_id: str | None = None) -> Manifest:
    """Return the manifest of an environment that is already served: `raw` is its document without an adapter.

    `name` replaces the file name. Raise InvalidInput with all problems.
    """
    problems = [problem for problem in manifest_problems(raw, None) if problem.path != "adapter"]
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise InvalidInput(f"domain {name}", errors)
    return _manifest(Path(name), dict(raw), None, domain_id or raw.get("id") or name, tuple(problems))


def _manifest(
    path: Path,
    raw: dict[str, Any],
    adapter: Path | None,
    domain_id: str | None,
    warnings: tuple[Problem, ...],
) -> Manifest:
    vow, _ = read_vow(raw["binding_vow"])
    scoring, _ = read_scoring(raw["scoring"])
    if vow is None or scoring is None:
        raise InvalidInput(f"manifest {path}", warnings)
    identity = domain_id or raw.get("id") or directory_id(path)
    names = {"domain_id": vow.domain_id or identity, "id": vow.id or f"{identity}-v{vow.version}"}
    prompt = raw.get("system_prompt")
    return Manifest(
        path=path,
        id=identity,
        name=raw["name"],
        description=raw.get("description") or raw.get("detail") or "",
        tags=tuple(raw.get("tags") or ()),
        adapter=adapter,
        vow=vow.model_copy(update=names),
        scoring=scoring,
        system_prompt=prompt if isinstance(prompt, str) else "",
        view=next((view for view in VIEWS if view == raw.get("view")), None),
        raw=raw,
        warnings=warnings,
    )


def resolve_adapter(adapter: object, directory: Path) -> Path:
    """Return the absolute path of the script that a manifest in `directory` names. Raise InvalidInput."""
    problems = list(_adapter_problems(adapter, directory))
    if problems or not isinstance(adapter, str):
        raise InvalidInput(f"manifest in {directory}", problems)
    return (directory / adapter).resolve()


def directory_id(path: Path) -> str:
    """Return the default id of a manifest at `path`: the name of the repository's directory.

    In the `auxiliary/` and `files/` layouts that is the parent directory.
    """
    directory = path.absolute().parent.resolve()
    if directory.name in PLACES and directory.parent.name:
        directory = directory.parent
    return directory.name or "environment"


def manifest_problems(raw: object, directory: Path | None) -> Iterator[Problem]:
    """Yield all problems of a manifest, errors and warnings.

    `directory` is that of the file; without it (standard input) the existence of the adapter is not checked. Problems
    that make results meaningless but do not prevent a run are warnings; see `contract_problems`.
    """
    if not isinstance(raw, Mapping):
        yield not_an_object(raw, "", "the manifest")
        return
    for key in REQUIRED:
        if raw.get(key) in (None, ""):
            yield Problem(key, "is required, but missing", _FIXES[key])
    if raw.get("adapter") not in (None, ""):
        yield from _adapter_problems(raw["adapter"], directory)
    yield from _text_problems(raw)
    if raw.get("binding_vow") not in (None, ""):
        yield from read_vow(raw["binding_vow"])[1]
    if raw.get("scoring") not in (None, ""):
        yield from read_scoring(raw["scoring"])[1]
    yield from (msgspec.structs.replace(problem, severity="warning") for problem in contract_problems(raw))
    if isinstance(raw.get("id"), str) and not ID.fullmatch(raw["id"]):
        yield Problem("id", f"{format_value(raw['id'])} is not an id that servers accept", ID_FIX, "warning")
    if raw.get("view") is not None and raw["view"] not in VIEWS:
        message = f"is no view, so observations are shown as they look: {format_value(raw['view'])}"
        yield Problem("view", message, f"write one of {', '.join(VIEWS)}", "warning")
    yield from unknown_keys(raw, _KNOWN, "", harmless=_HARMLESS)


_FIXES = {
    "adapter": 'add the script that starts the environment: "adapter": "adapter.py"',
    "name": 'add a title: "name": "My environment"',
    "binding_vow": "add the contract of the environment; `mesocosm init` writes one to start from",
    "scoring": 'add the metrics: "scoring": {"primary_metric": "reward", "metrics": '
    '[{"name": "reward", "type": "episode_reward", "aggregation": "mean"}]}',
}


def _text_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for key in ("name", "id", "description", "detail"):
        if not isinstance(raw.get(key, ""), str | None):
            yield Problem(key, f"must be a string, not {format_value(raw[key])}", "write it in double quotes")
    tags = raw.get("tags")
    if tags is not None and not isinstance(tags, list):
        yield Problem(
            "tags", f"must be a list of strings, not {format_value(tags)}", 'write for example ["puzzle", "tier1"]'
        )
    for index, tag in enumerate(tags if isinstance(tags, list) else ()):
        if not isinstance(tag, str):
            yield Problem(
                join("tags", index), f"must be a string, not {format_value(tag)}", "write it in double quotes"
            )
    prompt = raw.get("system_prompt")
    if prompt is not None and not isinstance(prompt, str):
        message = f"must be a string to be used, not {format_value(prompt)}; it is left out"
        yield Problem("system_prompt", message, "write the prompt as one string", "warning")


def _adapter_problems(adapter: object, directory: Path | None) -> Iterator[Problem]:
    if not isinstance(adapter, str):
        yield Problem("adapter", f"must be a string, not {format_value(adapter)}", _FIXES["adapter"])
        return
    outside = "keep the script in the manifest's directory or beneath it, and name it relative to the manifest"
    if "\0" in adapter or len(adapter) > 1000:
        yield Problem("adapter", f"is not a file name: {format_value(adapter)}", outside)
        return
    if os.path.isabs(adapter) or re.match(r"[A-Za-z]:[\\/]|\\", adapter):  # noqa: PTH117
        yield Problem("adapter", f"must be a relative path, not {format_value(adapter)}", outside)
        return
    if directory is None:
        if ".." in Path(adapter).parts:
            yield Problem("adapter", f"must not leave the manifest's directory: {format_value(adapter)}", outside)
        return
    yield from _place_problems(adapter, directory, outside)


def _place_problems(adapter: str, directory: Path, outside: str) -> Iterator[Problem]:
    try:
        root, place = directory.resolve(), (directory / adapter).resolve()
        exists, inside = place.is_file(), place.is_relative_to(root)
    except (OSError, RuntimeError, ValueError) as error:
        yield Problem("adapter", f"cannot be looked up: {error}", outside)
        return
    if not inside:
        yield Problem(
            "adapter", f"must not leave the manifest's directory: {format_value(adapter)} is {place}", outside
        )
    elif not exists:
        kind = "is a directory" if place.is_dir() else "does not exist"
        scripts = ", ".join(sorted(path.name for path in directory.glob("*.py"))[:8])
        fix = f"choose one of {scripts}" if scripts else "write the script, or correct the name"
        yield Problem("adapter", f"file {place} {kind}", fix)


def content_digest(manifest: Manifest, files: Mapping[str, str] | None = None) -> str:
    """Return 32 hex digits that change with everything that can change the behaviour of the environment.

    Covered: binding vow, scoring, system prompt, and the files below the manifest's directory by relative name and
    content; see `content_files`. Not covered: display names and descriptions, ids, the location on disk, unknown keys.
    The code of a server without an adapter is unknown, so its digest covers only the contract. `files` is the result of
    `content_files` if it is already available. Raise UsageError if a file cannot be read.
    """
    total = hashlib.sha256(_contract(manifest))
    for name, fingerprint in (content_files(manifest) if files is None else files).items():
        total.update(f"\n{name}\0{fingerprint}".encode(errors="surrogateescape"))
    return total.hexdigest()[:32]


def content_files(manifest: Manifest) -> dict[str, str]:
    """Return the fingerprints of the files that `content_digest` covers, by name relative to their root directory.

    They are those of `core.folder.files_below`; {} without an adapter. Raise UsageError if a file cannot be read.
    """
    if manifest.adapter is None:
        return {}
    path, root = manifest.path.resolve(), manifest.adapter.parent
    # An adapter in a subdirectory may also import from other directories of the manifest.
    root = path.parent if root.is_relative_to(path.parent) else root
    try:
        return files_below(root, places=_OUTPUT, apart=lambda name: root / name == path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"{error.filename} cannot be read ({reason}), but it belongs to the environment of {manifest.path}; "
            "make it readable, or move it out of the directory"
        ) from error


def watched_content(manifest: Manifest, files: Mapping[str, str]) -> Content:
    """Return the content of an environment with an adapter, to detect changes; `files` are those of the digest."""

    def seen(manifest: Manifest, files: Mapping[str, str]) -> dict[str, str]:
        return {**files, manifest.path.name: hashlib.sha256(_contract(manifest)).hexdigest()}

    def read() -> dict[str, str]:
        now = load_manifest(manifest.path, domain_id=manifest.id)
        return seen(now, content_files(now))

    return Content(f"environment {manifest.id}", seen(manifest, files), read)


def _contract(manifest: Manifest) -> bytes:
    contract: dict[str, Any] = {
        "vow": manifest.vow.model_dump(mode="json", exclude={"id", "domain_id"}),
        "scoring": manifest.scoring.model_dump(mode="json"),
        "system_prompt": manifest.system_prompt,
        "adapter": manifest.adapter.name if manifest.adapter else None,
    }
    episode = contract["vow"]["episode"]
    for later in _LATER:
        # Left out if unused, so that older environments keep their digest and their runs can be resumed.
        if episode[later] is None:
            del episode[later]
    if passes_malformed(manifest.vow):
        contract["malformed_actions"] = "pass"
    if order := _role_order(manifest.vow):
        contract["role_order"] = order
    return json.dumps(contract, sort_keys=True).encode()


def passes_malformed(vow: BindingVow) -> bool:
    """Return whether replies without a valid action are passed to the environment unchanged by default.

    Environments of the original program parse such text themselves. In a text space nearly every reply is an action.
    """
    space = vow.action_space
    texts = isinstance(space, SpaceSpec) and space.type is SpaceType.TEXT
    return vow.episode.malformed_actions is None and not texts


_LATER = ("max_parallel_episodes", "malformed_actions")
"""Fields of `episode` that were added to vows later."""


def _role_order(vow: BindingVow) -> list[str]:
    """Return the names of roles in document order if that is not alphabetical, because it decides who acts."""
    for technique in vow.techniques:
        roles = declared_params(technique.config_schema).get("roles")
        if isinstance(roles, Mapping) and list(roles) != sorted(roles):
            return list(roles)
    return []
