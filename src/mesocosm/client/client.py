"""The client of a server: typed resources over one connection at a time."""

import importlib
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mesocosm.client.identity import Identity
from mesocosm.client.transport import BenchApi

if TYPE_CHECKING:
    from mesocosm.client.admin import AdminResource
    from mesocosm.client.boards import GalleryResource, LeaderboardsResource
    from mesocosm.client.catalogue import BatchRunsResource, ModelsResource, TechniquesResource
    from mesocosm.client.datasets import DatasetsResource
    from mesocosm.client.domains import DomainsResource
    from mesocosm.client.environments import EnvironmentsResource
    from mesocosm.client.notifications import NotificationsResource
    from mesocosm.client.people import AccountResource, AuthResource, PersonalTokensResource
    from mesocosm.client.repositories import RepositoriesResource
    from mesocosm.client.resource import Resource
    from mesocosm.client.run_imports import RunImportsResource
    from mesocosm.client.runs import RunsResource, TestEpisodesResource
    from mesocosm.client.schedules import SchedulesResource
    from mesocosm.client.snapshots import SnapshotsResource
    from mesocosm.client.teams import TeamsResource
    from mesocosm.client.workspace_secrets import WorkspaceSecretsResource
    from mesocosm.client.workspaces import WorkspacesResource


R = TypeVar("R", bound="Resource")


class LazyResource(Generic[R]):
    """A resource of a client, imported on first use: a command needs the documents of only one or two."""

    def __init__(self, place: str) -> None:
        self._module, _, self._kind = place.partition(":")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, client: "Client", owner: Any = None) -> R:
        kind = getattr(importlib.import_module(f"mesocosm.client.{self._module}"), self._kind)
        resource: R = kind(client.api)
        client.__dict__[self._name] = resource  # takes precedence over this descriptor from now on
        return resource


class Client:
    """A server as seen by one caller.

    URL and token are the given ones, otherwise those of the environment or the saved login (see `identity.identify`); a
    saved login is renewed before it expires. Every method makes one request, blocks until the response arrives, for at
    most `timeout` seconds, and raises ApiError when the server refuses or does not respond.
    """

    auth: "LazyResource[AuthResource]" = LazyResource("people:AuthResource")
    """Guest sessions, sign-up and passwords."""
    me: "LazyResource[AccountResource]" = LazyResource("people:AccountResource")
    """The caller's account."""
    tokens: "LazyResource[PersonalTokensResource]" = LazyResource("people:PersonalTokensResource")
    """Personal tokens, for programs."""
    teams: "LazyResource[TeamsResource]" = LazyResource("teams:TeamsResource")
    """Teams."""
    workspaces: "LazyResource[WorkspacesResource]" = LazyResource("workspaces:WorkspacesResource")
    """Workspaces."""
    datasets: "LazyResource[DatasetsResource]" = LazyResource("datasets:DatasetsResource")
    """Datasets of workspaces."""
    workspace_secrets: "LazyResource[WorkspaceSecretsResource]" = LazyResource(
        "workspace_secrets:WorkspaceSecretsResource"
    )
    """Secrets of workspaces."""
    repositories: "LazyResource[RepositoriesResource]" = LazyResource("repositories:RepositoriesResource")
    """Repositories of workspaces, and their syncs."""
    snapshots: "LazyResource[SnapshotsResource]" = LazyResource("snapshots:SnapshotsResource")
    """Snapshots of workspace directories that were uploaded."""
    schedules: "LazyResource[SchedulesResource]" = LazyResource("schedules:SchedulesResource")
    """Schedules of workspaces."""
    notifications: "LazyResource[NotificationsResource]" = LazyResource("notifications:NotificationsResource")
    """Notifications of workspaces."""
    domains: "LazyResource[DomainsResource]" = LazyResource("domains:DomainsResource")
    """Domains that runs are started on."""
    environments: "LazyResource[EnvironmentsResource]" = LazyResource("environments:EnvironmentsResource")
    """Submitted environments."""
    runs: "LazyResource[RunsResource]" = LazyResource("runs:RunsResource")
    """Runs, their episodes and traces."""
    run_imports: "LazyResource[RunImportsResource]" = LazyResource("run_imports:RunImportsResource")
    """Runs that were played elsewhere, pushed to the server."""
    test: "LazyResource[TestEpisodesResource]" = LazyResource("runs:TestEpisodesResource")
    """Single episodes for testing a domain."""
    leaderboards: "LazyResource[LeaderboardsResource]" = LazyResource("boards:LeaderboardsResource")
    """Scores of agents on a domain."""
    gallery: "LazyResource[GalleryResource]" = LazyResource("boards:GalleryResource")
    """Public runs."""
    techniques: "LazyResource[TechniquesResource]" = LazyResource("catalogue:TechniquesResource")
    """Techniques that a binding vow may declare."""
    models: "LazyResource[ModelsResource]" = LazyResource("catalogue:ModelsResource")
    """Models available for runs."""
    batch_runs: "LazyResource[BatchRunsResource]" = LazyResource("catalogue:BatchRunsResource")
    """Batch runs: every model of the operator's list in one environment."""
    admin: "LazyResource[AdminResource]" = LazyResource("admin:AdminResource")
    """Administration of the server."""

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 120.0,
        identity: Identity | None = None,
    ) -> None:
        self.api = BenchApi(base_url, token, timeout=timeout, identity=identity)

    @property
    def base_url(self) -> str:
        """URL of the server."""
        return self.api.base_url

    @property
    def caller(self) -> Identity:
        """The caller."""
        return self.api.identity
