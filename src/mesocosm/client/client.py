"""The client of a platform: its resources, typed, over one connection at a time."""

from functools import cached_property
from typing import TYPE_CHECKING

from mesocosm.client.identity import Identity
from mesocosm.client.transport import BenchApi

if TYPE_CHECKING:
    from mesocosm.client.admin import AdminResource
    from mesocosm.client.boards import GalleryResource, LeaderboardsResource
    from mesocosm.client.catalogue import BatchRunsResource, ModelsResource, TechniquesResource
    from mesocosm.client.domains import DomainsResource
    from mesocosm.client.environments import EnvironmentsResource
    from mesocosm.client.people import AccountResource, AuthResource, PersonalTokensResource
    from mesocosm.client.runs import RunsResource, TestEpisodesResource
    from mesocosm.client.teams import TeamsResource


class Client:
    """One platform as one caller sees it.

    URL and token are those given, else from the environment or the saved login (see `identity.identify`); a saved login
    is renewed before it ends. Every method makes one request, blocks until it is answered, at most `timeout` seconds,
    and raises ApiError when the platform refuses or does not answer.
    """

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
        """Where the platform is."""
        return self.api.base_url

    @property
    def caller(self) -> Identity:
        """Who calls."""
        return self.api.identity

    @cached_property
    def auth(self) -> "AuthResource":
        """Guests, and ending a login."""
        from mesocosm.client.people import AuthResource

        return AuthResource(self.api)

    @cached_property
    def me(self) -> "AccountResource":
        """Who the platform takes the caller for."""
        from mesocosm.client.people import AccountResource

        return AccountResource(self.api)

    @cached_property
    def tokens(self) -> "PersonalTokensResource":
        """Personal tokens, for programs."""
        from mesocosm.client.people import PersonalTokensResource

        return PersonalTokensResource(self.api)

    @cached_property
    def teams(self) -> "TeamsResource":
        """Teams."""
        from mesocosm.client.teams import TeamsResource

        return TeamsResource(self.api)

    @cached_property
    def domains(self) -> "DomainsResource":
        """Domains: what runs are started on."""
        from mesocosm.client.domains import DomainsResource

        return DomainsResource(self.api)

    @cached_property
    def environments(self) -> "EnvironmentsResource":
        """Submitted environments."""
        from mesocosm.client.environments import EnvironmentsResource

        return EnvironmentsResource(self.api)

    @cached_property
    def runs(self) -> "RunsResource":
        """Runs, their episodes and traces."""
        from mesocosm.client.runs import RunsResource

        return RunsResource(self.api)

    @cached_property
    def test(self) -> "TestEpisodesResource":
        """Single episodes to try a domain with."""
        from mesocosm.client.runs import TestEpisodesResource

        return TestEpisodesResource(self.api)

    @cached_property
    def leaderboards(self) -> "LeaderboardsResource":
        """What agents reached on a domain."""
        from mesocosm.client.boards import LeaderboardsResource

        return LeaderboardsResource(self.api)

    @cached_property
    def gallery(self) -> "GalleryResource":
        """Runs that everybody may see."""
        from mesocosm.client.boards import GalleryResource

        return GalleryResource(self.api)

    @cached_property
    def techniques(self) -> "TechniquesResource":
        """Techniques that a vow may declare."""
        from mesocosm.client.catalogue import TechniquesResource

        return TechniquesResource(self.api)

    @cached_property
    def models(self) -> "ModelsResource":
        """Models that may be run."""
        from mesocosm.client.catalogue import ModelsResource

        return ModelsResource(self.api)

    @cached_property
    def batch_runs(self) -> "BatchRunsResource":
        """Batch runs: all models of the operator's list in one environment."""
        from mesocosm.client.catalogue import BatchRunsResource

        return BatchRunsResource(self.api)

    @cached_property
    def admin(self) -> "AdminResource":
        """What only those who run the platform may do."""
        from mesocosm.client.admin import AdminResource

        return AdminResource(self.api)
