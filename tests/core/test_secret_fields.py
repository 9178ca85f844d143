"""What holds a credential does not print it."""

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import msgspec
import pydantic

import bench_common
import mesocosm
import swecc_mesocosm
from mesocosm.core.secret import is_secret

NO_CREDENTIALS = {
    "mesocosm.compat.osmosis_platform.eval_files.DownloadItem.token": "public, an id, or names",
    "mesocosm.compat.osmosis_platform.eval_files.RunFile.token": "public, an id, or names",
    "mesocosm.server.builds.git_credentials.GitAccess.secrets": "public, an id, or names",
    "mesocosm.server.builds.git_credentials.GitCredentials.host_keys": "public, an id, or names",
    "mesocosm.server.schemas.git_credential.GitCredentialInput.host_keys": "public, an id, or names",
    "mesocosm.server.schemas.repository.SyncedConfigurationDocument.secrets": "public, an id, or names",
    "mesocosm.store.repositories.SyncedConfiguration.secrets": "public, an id, or names",
    "mesocosm.server.schemas.run_estimate.RunEstimate.missing_secrets": "public, an id, or names",
    "mesocosm.server.schemas.run_estimate.RunEstimate.secrets": "public, an id, or names",
    "mesocosm.agents.chosen_option.Token.key": "a part of a reply",
    "mesocosm.agents.loose_json._Frame.key": "a key of an object",
    "mesocosm.cli.eval.work.EvalFlags.secrets_file": "a path",
    "mesocosm.server.schemas.account.KeyRotated.key_id": "an id",
    "mesocosm.server.auth.oidc.Places.token_endpoint": "an address",
    "mesocosm.server.auth.oidc.Places.token_endpoint_auth_methods_supported": "names of methods",
    "mesocosm.server.backup.Backup.secrets_key": "a place",
    "mesocosm.server.workspace_secrets.SecretsRotation.key": "an id",
    "mesocosm.store.workspace_secrets.SecretRow.key": "an id",
    "mesocosm.server.settings.ModelEntry.key": "the name of a variable",
    "mesocosm.core.registry.OptionRoles.secrets": "names of options",
    "mesocosm.core.review.AskedLabel.key": "a key of the keyboard",
    "mesocosm.engine.comparison.episodes.PlayedStep.action_key": "a digest of what was done",
    "mesocosm.engine.comparison.episodes.PlayedStep.effect_key": "a digest of what came of it",
    "mesocosm.engine.comparison.episodes.PlayedStep.seen_key": "a digest of what was seen",
    "mesocosm.core.review.LabelOption.key": "a key of the keyboard",
    "mesocosm.server.schemas.review.ReviewLabel.key": "a key of the keyboard",
    "mesocosm.server.schemas.review.ReviewOption.key": "a key of the keyboard",
    "mesocosm.rollouts.configuration.Config.secrets": "names of variables",
    "mesocosm.rollouts.opening.RolloutOptions.secrets": "names of variables",
    "mesocosm.store.environments.EnvironmentRow.holder_key": "an id",
    "mesocosm.guests.inside.lm_eval_answers.Answers.think_end_token": "a token of a model",
    "mesocosm.guests.inside.lm_eval_loading.LmEvalArguments.prefix_token": "a token of a model",
    "mesocosm.guests.inside.lm_eval_loading.LmEvalArguments.think_end_token": "a token of a model",
    "mesocosm.interop.imports.assembly._Draft.key": "a task and its trial",
}


def _modules() -> Iterator[ModuleType]:
    for package in (mesocosm, bench_common, swecc_mesocosm):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("__main__") or ".migrations." in found.name or ".builtin." in found.name:
                continue
            try:
                yield importlib.import_module(found.name)
            except ImportError:
                # An extra that is not installed here.
                continue


def _records() -> list[type]:
    found: dict[str, type] = {}
    for module in _modules():
        for kind in vars(module).values():
            ours = isinstance(kind, type) and kind.__module__ == module.__name__
            if ours and (
                dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct | pydantic.BaseModel | tuple)
            ):
                found[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return [found[name] for name in sorted(found)]


def _shown(kind: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields that the text of an object shows, each with its type."""
    if issubclass(kind, pydantic.BaseModel):
        yield from ((name, field.annotation) for name, field in kind.model_fields.items() if field.repr)
    elif dataclasses.is_dataclass(kind):
        yield from ((field.name, field.type) for field in dataclasses.fields(kind) if field.repr)
    elif issubclass(kind, msgspec.Struct):
        if kind.__repr__ is msgspec.Struct.__repr__:
            yield from ((field.name, field.type) for field in msgspec.structs.fields(kind))
    elif hasattr(kind, "_fields"):
        yield from ((name, kind.__annotations__.get(name)) for name in kind._fields)


def test_no_record_prints_a_credential() -> None:
    printed = [
        f"{kind.__module__}.{kind.__qualname__}.{name}"
        for kind in _records()
        for name, hint in _shown(kind)
        if is_secret(name, "") and not re.search(r"(^|_)tokens(_|$)", name) and _is_text(hint)
    ]
    assert sorted(printed) == sorted(NO_CREDENTIALS)


def _is_text(hint: Any) -> bool:
    said = str(hint)
    return ("str" in said or "Any" in said) and "SecretStr" not in said
