"""The benchmark kind `hosted`: which environment a run names, read from the platform of this process."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.run import HOSTED, BenchmarkRef
from mesocosm.environments.manifest import Manifest, served_manifest
from mesocosm.server.adapters.benchmark import HostedBenchmark, Remote, Sandboxed

if TYPE_CHECKING:
    from mesocosm.server.adapters.hosts import Hosts
    from mesocosm.server.service import Service


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `hosted`; none of them is part of a run's identity, the content digest is.

    `environment` and `version` name a submission that this platform starts itself; `env_url` is the address of an
    environment that runs elsewhere, with the contract in `domain`, the document of its domain.
    """

    environment: str = ""
    version: int = 0
    env_url: str = ""
    domain: dict[str, Any] | None = None


@dataclass(slots=True)
class _Bound:
    """What this process opens benchmarks with."""

    service: "Service | None" = None
    hosts: "Hosts | None" = None


_bound = _Bound()


def use(service: "Service", hosts: "Hosts | None" = None) -> None:
    """Let this process know hosted environments: those of `service`, started by `hosts`.

    Without hosts they can be looked at (facts, tasks, digest) and not be played: so it is in a server.
    """
    _bound.service, _bound.hosts = service, hosts


def open_hosted(ref: BenchmarkRef) -> HostedBenchmark:
    """Return the environment that `ref` names: `source` is the id of its domain.

    Raises UsageError for options that mean nothing and in a process that is no platform, UnknownName where the
    version is gone.
    """
    if _bound.service is None:
        raise UsageError(
            f"domain {ref.source!r} is hosted by a platform, whose workers alone play it; ask that platform for the "
            "run (`mesocosm auth login`, then `mesocosm run create` or `mesocosm run resume`)"
        )
    try:
        options = msgspec.convert(ref.options, Options)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of benchmark kind {HOSTED!r}: {error}") from error
    if options.environment:
        return _submitted(_bound.service, ref.source, options)
    if not options.env_url or options.domain is None:
        raise UsageError(
            f"domain {ref.source!r} names neither an environment nor its address; options are `environment` and "
            "`version`, or `env_url` and `domain`"
        )
    remote = Remote(options.env_url, private=_bound.service.settings.private_env_urls)
    return HostedBenchmark(_contract(ref.source, options.domain), remote, _bound.service.settings, _bound.hosts)


def _submitted(service: "Service", domain_id: str, options: Options) -> HostedBenchmark:
    version = service.environments.version(options.environment, options.version)
    if version is None or not version.manifest:
        raise UnknownName(
            f"version {options.version} of environment {options.environment} is not there any more; run the newest one"
        )
    manifest = _contract(domain_id, json.loads(version.manifest))
    place = Sandboxed(options.environment, options.version, version.digest)
    return HostedBenchmark(manifest, place, service.settings, _bound.hosts)


def _contract(domain_id: str, document: dict[str, Any]) -> Manifest:
    """Return what a document says, whichever adapter it names: its file need not be on this machine."""
    return served_manifest(domain_id, document, domain_id=domain_id)
