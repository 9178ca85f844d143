"""Validate a manifest or a register body offline, for `mesocosm validate`."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.json_schema import spelled
from mesocosm.core.reading import format_value, join, not_an_object, read_fields
from mesocosm.core.scoring import read_scoring
from mesocosm.core.vow import read_vow
from mesocosm.environments.document import parse_json, read_json
from mesocosm.environments.domain import EnvironmentEndpoint
from mesocosm.environments.manifest import (
    ID,
    ID_FIX,
    MANIFEST_NAME,
    find_manifest,
    manifest_problems,
    other_manifests,
)
from mesocosm.environments.plausibility import contract_problems

SERVER_STEPS = 200
"""Default step limit on a server; a local run has none."""

POLICY_NAME = "constraints.json"
MANIFEST_SCHEMA = "benchanything_manifest"


class ValidationPolicy(BaseModel):
    """The rules that an operator can change, read from `constraints.json`."""

    rules_version: str
    description: str = ""
    required_register_fields: list[str]
    allowed_model_prefixes: list[str]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The result. `problems` are the errors, `warnings` the rest; `schema` is empty for register bodies."""

    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...] = ()
    rules_version: str = ""
    schema: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the document that the command prints: the original keys, then problems and warnings with paths."""
        document: dict[str, Any] = {
            "ok": self.ok,
            "issues": [str(problem) for problem in self.problems],
            "suggested_fixes": [problem.fix for problem in self.problems if problem.fix],
            "rules_version": self.rules_version,
        }
        if self.schema:
            document["schema"] = self.schema
        document["problems"] = [_as_json(problem) for problem in self.problems]
        document["warnings"] = [_as_json(problem) for problem in self.warnings]
        return document


def _as_json(problem: Problem) -> dict[str, str]:
    return {"path": problem.path, "message": problem.message, "fix": problem.fix, "severity": problem.severity}


def validate_file(path: Path) -> ValidationResult:
    """Check the document at `path` (a file, or a directory with a manifest) against every rule.

    The manifest is found and read as in a run; text that is not JSON gives a result with errors. Raise UsageError if
    the file does not exist or cannot be read.
    """
    path = find_manifest(path) if path.is_dir() else path
    try:
        raw, notes = read_json(path, "document")
    except InvalidInput as error:
        return unreadable(error)
    manifest = True if path.name == MANIFEST_NAME else None
    return validate_document(
        raw, directory=path.resolve().parent, notes=(*other_manifests(path), *notes), is_a=manifest
    )


def validate_bytes(data: bytes) -> ValidationResult:
    """Check a document without a file against every rule."""
    try:
        raw, notes = parse_json(data, "standard input")
    except InvalidInput as error:
        return unreadable(error)
    return validate_document(raw, directory=None, notes=notes)


def unreadable(error: InvalidInput) -> ValidationResult:
    """Return the result for text that is not a JSON document."""
    policy, faults = load_policy()
    return ValidationResult((*faults, *error.problems), rules_version=policy.rules_version if policy else "")


def validate_document(
    raw: object, *, directory: Path | None, notes: Sequence[Problem] = (), is_a: bool | None = None
) -> ValidationResult:
    """Check a manifest, or the body of a domain registration, against every rule; any JSON value is accepted.

    `directory` is that of the file, None for standard input: the adapter is then not looked up. `notes` are problems
    found while reading; a repeated key is an error here. `is_a` is whether the document is a manifest, None to decide
    by its content.
    """
    policy, faults = load_policy()
    manifest = is_manifest(raw) if is_a is None else is_a
    if not isinstance(raw, Mapping):
        problems: Iterable[Problem] = [not_an_object(raw, "", "the document")]
    elif manifest:
        problems = [*manifest_problems(raw, directory), *_budget_problems(raw)]
    else:
        problems = [*_register_problems(raw, policy), *_budget_problems(raw)]
    found = [*faults, *(_strictly(note) for note in notes), *problems]
    if isinstance(raw, Mapping):
        # Errors here, although a run only warns: it would continue, but its results would be meaningless.
        strict = [problem for problem in contract_problems(raw) if problem.severity == "error"]
        lax = {(problem.path, problem.message) for problem in strict}
        found = [problem for problem in found if (problem.path, problem.message) not in lax] + strict
    return ValidationResult(
        problems=tuple(problem for problem in found if problem.severity == "error"),
        warnings=tuple(problem for problem in found if problem.severity != "error"),
        rules_version=policy.rules_version if policy else "",
        schema=MANIFEST_SCHEMA if manifest else "",
    )


def _strictly(note: Problem) -> Problem:
    return note if not note.path else msgspec.structs.replace(note, severity="error")


def is_manifest(raw: object) -> bool:
    """Return whether a document is a manifest rather than a register body."""
    if not isinstance(raw, Mapping):
        return False
    if raw.get("adapter"):
        return True
    return "binding_vow" in raw and "scoring" in raw and "owner_id" not in raw and "endpoint" not in raw


def load_policy() -> tuple[ValidationPolicy | None, list[Problem]]:
    """Return the policy from MESOCOSM_POLICY_DIR or from the package; None, with the reason, if it is unusable."""
    directory = os.environ.get("MESOCOSM_POLICY_DIR", "")
    path = (Path(directory) if directory else Path(__file__).parent) / POLICY_NAME
    fix = "correct the file, or unset MESOCOSM_POLICY_DIR to use the rules that ship with mesocosm"
    try:
        return ValidationPolicy.model_validate(json.loads(path.read_bytes())), []
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return None, [Problem("", f"policy file {path} cannot be read: {reason}", fix)]
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        return None, [Problem("", f"policy file {path} is unusable: {place}: {fault['msg']}", fix)]
    except (ValueError, RecursionError) as error:
        return None, [Problem("", f"policy file {path} is not JSON: {error}", fix)]


def _budget_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    vow = raw.get("binding_vow")
    episode = vow.get("episode") if isinstance(vow, Mapping) else None
    if not isinstance(vow, Mapping) or not isinstance(episode, Mapping | None):
        return
    steps = (episode or {}).get("max_steps")
    path = "binding_vow.episode.max_steps"
    if steps is None:
        yield Problem(path, "is not set, so an episode may never end", f"set it, for example to {SERVER_STEPS // 4}")
    elif isinstance(steps, int) and steps > SERVER_STEPS:
        message = f"is {spelled(steps)}, but servers cut episodes at {SERVER_STEPS} steps unless set otherwise"
        yield Problem(path, message, "plan for the cut; local runs are not cut", "warning")


def _register_problems(raw: Mapping[str, Any], policy: ValidationPolicy | None) -> Iterator[Problem]:
    for key in policy.required_register_fields if policy else ():
        if raw.get(key) in (None, ""):
            yield Problem(key, "is required, but missing", f"add `{key}`")
    vow = raw.get("binding_vow")
    if vow not in (None, ""):
        yield from read_vow(vow)[1]
    if raw.get("scoring") not in (None, ""):
        yield from read_scoring(raw["scoring"])[1]
    if raw.get("endpoint") not in (None, ""):
        yield from _endpoint_problems(raw["endpoint"])
    for key in ("id", "name", "owner_id"):
        if not isinstance(raw.get(key, ""), str | None):
            yield Problem(key, f"must be a string, not {format_value(raw[key])}", "write it in double quotes")
    if isinstance(raw.get("id"), str) and raw["id"] and not ID.fullmatch(raw["id"]):
        yield Problem("id", f"{format_value(raw['id'])} is not an id", ID_FIX)
    if isinstance(vow, Mapping) and vow.get("domain_id") and raw.get("id") and vow["domain_id"] != raw["id"]:
        message = f"{format_value(vow['domain_id'])} is not the id of the document, {format_value(raw['id'])}"
        yield Problem("binding_vow.domain_id", message, "write the same id in both places")
    yield from _model_problems(raw.get("inferred_agent"), policy)


def _endpoint_problems(raw: object) -> Iterator[Problem]:
    if not isinstance(raw, Mapping):
        yield not_an_object(raw, "endpoint", "the endpoint")
        return
    yield from read_fields(EnvironmentEndpoint, raw, "endpoint", {}).problems


def _model_problems(agent: object, policy: ValidationPolicy | None) -> Iterator[Problem]:
    if policy is None or not isinstance(agent, Mapping) or agent.get("model") is None:
        return
    model, prefixes = agent["model"], tuple(policy.allowed_model_prefixes)
    if not isinstance(model, str) or not model.startswith(prefixes):
        message = f"{format_value(model)} does not start with one of {', '.join(prefixes)}"
        yield Problem(join("inferred_agent", "model"), message, "name the provider first, as in ollama/llama3.2")
