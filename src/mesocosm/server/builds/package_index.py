"""The package index of the operator: the PIP_* variables of this process, and the proxy by which sandboxes reach it.

The password of an index never enters a sandbox, because packages run foreign code there: the egress proxy adds it.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mesocosm.core.secret import is_secret
from mesocosm.http.target import Origin, target
from mesocosm.sandboxes.egress_proxy import AuthenticatedRoute, EgressProxy
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.server.settings import Settings

_NOT_PASSED = frozenset(
    {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_CACHE_DIR", "PIP_LOG", "PIP_PYTHON", "PIP_PROXY"}
)
_INDEXES = frozenset({"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"})


@dataclass(frozen=True, slots=True)
class PackageIndexSettings:
    """The operator's configuration of pip.

    `variables` contain no passwords, `readable` are the files and folders that they name, `addresses` are host and port
    of each index. `entrances` are the routes by which the egress proxy authenticates at indexes with a password.
    """

    variables: Mapping[str, str]
    readable: list[Path]
    addresses: list[str]
    entrances: Mapping[str, Sequence[AuthenticatedRoute]]


def read_index_settings() -> PackageIndexSettings:
    """Read the PIP_* variables without passwords, because packages run foreign code in the same sandbox."""
    variables: dict[str, str] = {}
    addresses: list[str] = []
    entrances: dict[str, list[AuthenticatedRoute]] = {}
    for name, value in os.environ.items():
        if not name.startswith("PIP_") or name in _NOT_PASSED:
            continue
        if name in _INDEXES:
            variables[name] = " ".join(_without_password(word, addresses, entrances) for word in value.split())
        elif not is_secret(name, value):
            variables[name] = value
    if entrances:
        # pip connects to the egress proxy by plain HTTP, and the proxy to the index by TLS.
        hosts = (address.removesuffix(":80") for address in entrances)
        variables["PIP_TRUSTED_HOST"] = " ".join([variables.get("PIP_TRUSTED_HOST", ""), *hosts]).strip()
    words = [word for value in variables.values() for word in value.split()]
    paths = [Path(unquote(urlsplit(word).path) if word.startswith("file:") else word) for word in words]
    return PackageIndexSettings(
        variables, [path for path in paths if path.is_absolute() and path.exists()], addresses, entrances
    )


def _without_password(word: str, addresses: list[str], entrances: dict[str, list[AuthenticatedRoute]]) -> str:
    """Return the URL of an index without its password; add to `addresses` and `entrances`."""
    try:
        origin, authorization = target(word).origin, target(word).authorization
    except ValueError:
        return word
    host = origin.host.rstrip(".")
    addresses.append(f"{host}:{origin.port}")
    if not authorization:
        return word
    tls = origin.scheme == "https"
    asked = Origin("http", host, 80 if tls and origin.port == 443 else origin.port)
    entrance = AuthenticatedRoute(origin.port, tls, authorization, _folders(target(word).path))
    entrances.setdefault(f"{host}:{asked.port}", []).append(entrance)
    return f"http://{asked.authority}{target(word).path}"


def _folders(path: str) -> tuple[str, ...]:
    """Return the paths of an index: its own, and the sibling paths where index servers store their files."""
    path = path.partition("?")[0]
    before, _, last = path.rstrip("/").rpartition("/")
    beside = ("packages", "files", "+f") if last in {"simple", "+simple"} else ()
    return (path, *(f"{before}/{name}/" for name in beside))


def index_proxy(settings: Settings, index: PackageIndexSettings) -> EgressProxy:
    """Return the proxy to the index and to the package hosts of a server, for one installation."""
    hosts = [address.rpartition(":")[0] for address in index.addresses]
    # An index on a non-standard port may be in the private network.
    ports = [address for address in index.addresses if not address.endswith((":80", ":443"))]
    return EgressProxy(
        [*settings.package_hosts, *hosts],
        loopback=ports,
        most_bytes=4 * settings.packages_mb * MIB,
        entrances=index.entrances,
        trusted=os.environ.get("PIP_CERT") or None,
    )
