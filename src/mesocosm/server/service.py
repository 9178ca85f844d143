"""The service: settings, store and caches of a server, one object per process. Its parts are created on first use."""

import hmac
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesocosm.core.failure import InfrastructureError
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.principal import NOBODY, Principal, Role
from mesocosm.server.auth.principal import Kind as PrincipalKind
from mesocosm.server.cache import Cache
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings
from mesocosm.store import Store, open_store
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workspaces import Role as WorkspaceRole

if TYPE_CHECKING:
    from fastapi import Request

    from mesocosm.server.auth.accounts import Accounts
    from mesocosm.server.auth.oidc import Oidc
    from mesocosm.server.managed_models import ManagedModel
    from mesocosm.server.metrics import ServerMetrics
    from mesocosm.server.model_catalogue import Catalogue

RECENT_S = 2.0
"""Seconds for which teams, roles and requests are cached: changes by other processes may take effect that late."""
_RECENT = 5_000

MOST_STREAMS, MOST_OF_ONE, MOST_OF_ADDRESS = 2_000, 50, 200
"""Limits of open streams: in total, for a caller, and for anonymous callers at one address."""

_OPEN = Principal(PrincipalKind.MEMBER, user_id=0, username="local", role=Role.ADMIN, way="open")


class Audience:
    """Counts the open streams: in total, per caller, and per address for anonymous callers."""

    def __init__(self) -> None:
        self._each: Counter[str] = Counter()

    def full(self, who: str, *, known: bool) -> bool:
        """Return whether the limit is reached for `who`: a caller if `known`, else an address."""
        return self._each.total() >= MOST_STREAMS or self._each[who] >= (MOST_OF_ONE if known else MOST_OF_ADDRESS)

    @contextmanager
    def slot(self, who: str) -> Iterator[None]:
        """Count one more stream inside this context."""
        self._each[who] += 1
        try:
            yield
        finally:
            self._each[who] -= 1
            if not self._each[who]:
                del self._each[who]


class Service:
    """The settings, the store and the caches of the server in this process.

    `local` is set for `mesocosm view`, which shows a laptop's results to their owner: no accounts, no workers.
    """

    def __init__(self, settings: Settings, store: Store, *, local: bool = False) -> None:
        self.settings = settings
        self.local = local
        self.store = store
        self._teams_of = Cache[frozenset[str]](_RECENT, seconds=RECENT_S)
        self._roles_of = Cache[Mapping[str, WorkspaceRole]](_RECENT, seconds=RECENT_S)
        self._requests = Cache[tuple[RunRequest | None]](_RECENT, seconds=RECENT_S)
        self._models = Cache[tuple["ManagedModel", ...]](1, seconds=RECENT_S)
        self.audience = Audience()
        self.kept = Cache[Any]()
        self.checks = Cache[Any](_RECENT, seconds=60.0)

    @cached_property
    def accounts(self) -> "Accounts":
        """The accounts of the server."""
        from mesocosm.server.auth.accounts import Accounts

        return Accounts(self.store, self.settings)

    @cached_property
    def oidc(self) -> "Oidc":
        """Sign-in with an OpenID Connect provider. Raises Refusal 404 if none is configured."""
        from mesocosm.server.auth.oidc import Oidc

        return Oidc(self.accounts)

    @cached_property
    def catalogue(self) -> "Catalogue":
        """The models that the server offers."""
        from mesocosm.server.model_catalogue import Catalogue

        return Catalogue(self.settings, self._managed_models)

    def assign_model_keys(self) -> None:
        """Give this process the keys and prices of the models as they are now. Blocks on the store."""
        self._models = Cache(1, seconds=RECENT_S)
        self.catalogue.assign_keys()

    def _managed_models(self) -> "tuple[ManagedModel, ...]":
        """Return the models that administrators set, at most `RECENT_S` old; a laptop has none."""
        from mesocosm.server.managed_models import managed_models

        if self.local:
            return ()
        return self._models.get(self.store.database.written, lambda: managed_models(self.store))

    @cached_property
    def metrics(self) -> "ServerMetrics":
        """The metrics of this process and of the store."""
        from mesocosm.server.metrics import ServerMetrics

        return ServerMetrics(self.store.counts, self.settings.lease_s)

    def teams_of(self, user_id: int) -> frozenset[str]:
        """Return the ids of the teams of a member, at most `RECENT_S` old."""
        key, of_user = (user_id, self.store.database.written), self.store.teams.teams_of
        return self._teams_of.get(key, lambda: frozenset(team.id for team in of_user(user_id)))

    def roles_of(self, user_id: int) -> Mapping[str, WorkspaceRole]:
        """Return the role of a member in each of their workspaces, by its id, at most `RECENT_S` old."""
        return self._roles_of.get(
            (user_id, self.store.database.written), lambda: self.store.workspaces.roles_of(user_id)
        )

    def recent_requests(self, run_ids: Iterable[str]) -> dict[str, RunRequest]:
        """Return the requests of runs by run id, at most `RECENT_S` old; runs without one are left out.

        They are cached because every stream reads them at each change.
        """
        wanted = set(run_ids)
        found = {run_id: kept[0] for run_id in wanted if (kept := self._requests.find(run_id)) is not None}
        missing = wanted - set(found)
        read = self.store.run_requests.of(missing) if missing else {}
        for run_id in missing:
            # Cache also that a run has no request.
            found[run_id] = read.get(run_id)
            self._requests.keep(run_id, (found[run_id],))
        return {run_id: request for run_id, request in found.items() if request is not None}

    def viewer(self, caller: Principal, address: str = "") -> Viewer:
        """Return a caller with the rules that apply to them on this server."""
        return Viewer(caller, address, self.teams_of, self.roles_of, local=self.local)

    @property
    def nobody(self) -> Principal:
        """The caller of a request without credentials."""
        return _OPEN if self.local or self.settings.auth_disabled else NOBODY

    def recognise(self, request: "Request") -> Principal:
        """Return the caller of a request; with accounts disabled, always the local administrator."""
        return _OPEN if self.local or self.settings.auth_disabled else self.accounts.recognise(request)

    def check_worker(self, authorization: str) -> None:
        """Check the workers' secret in an Authorization header. Raises Refusal: 503 if none is set, 401 if wrong."""
        secret = self.settings.worker_secret.get_secret_value()
        if not secret:
            raise Refusal(503, "this server has no worker secret; set MESOCOSM_WORKER_SECRET to use outside workers")
        given = authorization.partition(" ")[2] if authorization.lower().startswith("bearer ") else ""
        if not hmac.compare_digest(given.encode(), secret.encode()):
            raise Refusal(401, "wrong worker secret", headers={"WWW-Authenticate": "Bearer"})


def local_service(store: Store, host: str = "127.0.0.1") -> Service:
    """Return the service of `mesocosm view`. Every caller is the owner; environment variables are not read."""
    settings = Settings.model_construct(auth_disabled=True, host=host, workers=0, models=())
    return Service(settings, store, local=True)


@contextmanager
def opened(settings: Settings) -> Iterator[Service]:
    """Open the store of a server and migrate its schema. Raises UsageError, InfrastructureError."""
    if not settings.database_url:
        _make(settings.data_dir)
    store = open_store(settings.database_url or settings.data_dir / DATABASE_NAME, blob_url=settings.blob_url)
    try:
        yield Service(settings, store)
    finally:
        store.close()


def _make(folder: Path) -> None:
    """Create the data directory, private to this user: it contains the keys that sign tokens."""
    remedy = "choose a writable one with --data-dir"
    try:
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(f"the data directory {folder} cannot be made ({error.strerror}); {remedy}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InfrastructureError(f"the data directory {folder} cannot be written; {remedy}")
