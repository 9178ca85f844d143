"""Registration of a domain from Python, for environments that run at a URL of their own."""

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mesocosm.client.client import Client
from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.reading import join
from mesocosm.environments.domain import DomainConfig, EnvironmentEndpoint
from mesocosm.environments.manifest import load_manifest
from mesocosm.server.schemas.domain import Domain


def register_domain(
    config: DomainConfig | Mapping[str, Any],
    *,
    api_url: str | None = None,
    update_if_exists: bool = True,
    token: str | None = None,
) -> dict[str, Any]:
    """Create the domain on the server, or update it if the id exists; print one line and return the response.

    Registering the same configuration again changes nothing. Raises VowViolation when the binding vow breaks its rules,
    ApiError when the server refuses or, without `update_if_exists`, already has the id.
    """
    domain = config if isinstance(config, DomainConfig) else DomainConfig.model_validate(config)
    body = _body(domain)
    client = Client(api_url, token)
    stored, new = client.domains.put(body) if update_if_exists else (client.domains.create(body), True)
    print(f"{'registered' if new else 'updated'} domain {domain.id} ({domain.name}) at {client.base_url}")
    return stored.model_dump(mode="json")


def put_domain(client: Client, config: DomainConfig) -> tuple[Domain, bool]:
    """Create the domain on a server, or update it if the id exists; return it, and whether it is new.

    Raises VowViolation when the binding vow breaks its rules, ApiError when the server refuses.
    """
    return client.domains.put(_body(config))


def _body(domain: DomainConfig) -> dict[str, Any]:
    """Return the domain as a JSON object after checking its binding vow. Raises VowViolation."""
    domain.binding_vow.validate()
    body = domain.model_dump(mode="json")
    if not domain.owner_id:
        del body["owner_id"]
    return body


def publish_domain(domain_id: str, *, api_url: str | None = None, token: str | None = None) -> dict[str, Any]:
    """Publish a registered domain; print one line and return the response. Raises ApiError."""
    client = Client(api_url, token)
    published = client.domains.publish(domain_id)
    print(f"published domain {domain_id} at {client.base_url}")
    return published.model_dump(mode="json")


def domain_from_manifest(
    path: Path, *, domain_id: str | None = None, env_url: str = "http://localhost:8765"
) -> DomainConfig:
    """Return the domain that a manifest describes, reached at `env_url`. Raises as `load_manifest`."""
    manifest = load_manifest(path, domain_id=domain_id)
    return DomainConfig(
        id=manifest.id,
        name=manifest.name,
        binding_vow=manifest.vow,
        endpoint=EnvironmentEndpoint(mode="remote", url=env_url),
        scoring=manifest.scoring,
        tags=list(manifest.tags),
        detail=manifest.description,
    )


def domain_from_script(path: Path) -> DomainConfig:
    """Run a Python file and return its DOMAIN_CONFIG (a DomainConfig, or a mapping with its fields).

    Raises UsageError if the file or the name does not exist or the file fails, InvalidInput with all problems of a
    mapping.
    """
    if not path.is_file():
        raise UsageError(f"there is no file {path}; name a Python file that defines DOMAIN_CONFIG")
    config = _executed(path).get("DOMAIN_CONFIG")
    if isinstance(config, DomainConfig):
        return config
    if not isinstance(config, Mapping):
        raise UsageError(f"{path} defines no DOMAIN_CONFIG; assign a DomainConfig to that name")
    try:
        return DomainConfig.model_validate(config)
    except ValidationError as error:
        raise InvalidInput(f"DOMAIN_CONFIG of {path}", _problems(error)) from error


def _executed(path: Path) -> dict[str, Any]:
    """Run a file with its own directory on the import path, as `python FILE` does."""
    directory = str(path.resolve().parent)
    sys.path.insert(0, directory)
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path} failed: {type(error).__name__}: {error}; run it with python to see where") from error
    finally:
        sys.path.remove(directory)


def _problems(error: ValidationError) -> list[Problem]:
    problems = []
    for fault in error.errors():
        path = ""
        for part in fault["loc"]:
            path = join(path, part)
        problems.append(Problem(path, fault["msg"]))
    return problems


def renamed(config: DomainConfig, domain_id: str) -> DomainConfig:
    """Return the domain under another id, including the ids in its binding vow."""
    vow = config.binding_vow.model_copy(update={"id": f"{domain_id}-vow", "domain_id": domain_id})
    return config.model_copy(update={"id": domain_id, "binding_vow": vow})
