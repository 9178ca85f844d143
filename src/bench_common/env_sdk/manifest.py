"""Manifests as plain dictionaries."""

from pathlib import Path
from typing import Any

from mesocosm.client.registration import domain_from_manifest
from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.core.reading import not_an_object
from mesocosm.environments.document import read_json
from mesocosm.environments.domain import DomainConfig
from mesocosm.environments.manifest import MANIFEST_NAME, REQUIRED, find_manifest, resolve_adapter

INIT_FILES_DIR = "auxiliary"
DEFAULT_MANIFEST = f"{INIT_FILES_DIR}/{MANIFEST_NAME}"

__all__ = [
    "DEFAULT_MANIFEST",
    "INIT_FILES_DIR",
    "domain_config_from_manifest",
    "find_manifest_path",
    "load_manifest",
    "resolve_adapter_path",
]


def load_manifest(path: str | Path) -> dict[str, Any]:
    """Return the manifest as written; only the four required keys are checked. Raises ManifestError."""
    raw, _ = read_json(Path(path), "manifest")
    if not isinstance(raw, dict):
        raise InvalidInput(f"manifest {path}", [not_an_object(raw, "", "the manifest")])
    missing = [Problem(key, "is required, but missing", f"add `{key}`") for key in REQUIRED if key not in raw]
    if missing:
        raise InvalidInput(f"manifest {path}", missing)
    return raw


def domain_config_from_manifest(
    path: str | Path, *, domain_id: str | None = None, env_url: str = "http://localhost:8765"
) -> DomainConfig:
    """Return the domain in a manifest, served at `env_url`. Raises ManifestError."""
    return domain_from_manifest(Path(path), domain_id=domain_id, env_url=env_url)


def find_manifest_path(repo_dir: str | Path) -> Path:
    """Return the path of a repository's manifest: at its root, in auxiliary/ or in files/. Raises ManifestError."""
    return find_manifest(Path(repo_dir))


def resolve_adapter_path(manifest_path: str | Path) -> Path:
    """Return the absolute path of a manifest's adapter script. Raises ManifestError."""
    path = Path(manifest_path)
    return resolve_adapter(load_manifest(path)["adapter"], path.parent)
