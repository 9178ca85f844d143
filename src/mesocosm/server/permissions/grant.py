"""What a caller may see and change. Routes reach the store only through a `Grant`.

A route takes `grant: Granted` and gets objects from it:

    @router.get("/runs/{run_id}")
    def get_run(run_id: str, grant: Granted) -> Response:
        return answer(run_detail(grant.run(run_id)))

Each method of `Grant` returns a granted object or raises the refusal. Granted objects keep the store private. They
return records and documents without what the caller may not see, and have one method for each permitted action. The
rules are in `auth.access_rules`. For a new kind of object, add a module with its granted objects (see `visible_runs`)
and a method here; `tests/server/auth/test_granted_objects.py` finds them.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated

from fastapi import Depends, Request
from pydantic import SecretStr

from mesocosm.server.auth.principal import Principal
from mesocosm.server.evaluations.benchmark_submission import submit_benchmark
from mesocosm.server.permissions.account import OwnAccount
from mesocosm.server.permissions.administration import Administration
from mesocosm.server.permissions.authentication import Authentication
from mesocosm.server.permissions.batch_runs import VisibleBatchRuns
from mesocosm.server.permissions.benchmark_records import BenchmarkRecords
from mesocosm.server.permissions.domains import OwnedDomain, VisibleDomain, VisibleDomains
from mesocosm.server.permissions.environments import OwnedEnvironment, OwnedEnvironments
from mesocosm.server.permissions.owned_runs import OwnedRun
from mesocosm.server.permissions.repository_hooks import RepositoryHook
from mesocosm.server.permissions.review_queue import WorkingRound
from mesocosm.server.permissions.review_rounds import OwnedRound, VisibleRound, VisibleRounds
from mesocosm.server.permissions.review_verdicts import EpisodeReviews
from mesocosm.server.permissions.route_access import Served, principal_of
from mesocosm.server.permissions.run_imports import OwnRunImport, OwnRunImports
from mesocosm.server.permissions.saved_views import OwnSavedViews
from mesocosm.server.permissions.system import SystemInfo
from mesocosm.server.permissions.teams import OwnedTeam, OwnTeams, VisibleTeam
from mesocosm.server.permissions.visible_runs import VisibleEpisode, VisibleRun, VisibleRuns
from mesocosm.server.permissions.working_runs import WorkingRun
from mesocosm.server.permissions.workspaces import (
    ManagedWorkspace,
    OwnedWorkspace,
    OwnWorkspaces,
    VisibleWorkspace,
    WorkingWorkspace,
)
from mesocosm.server.run_requests.submission import submit_run, submit_test_episode
from mesocosm.server.schemas.run_request import BenchmarkInput, RolloutInput, RunInput, TestEpisodeInput
from mesocosm.server.service import Service
from mesocosm.server.web.client_address import client_address
from mesocosm.server.workspace_secrets import NO_SECRETS


class Grant:
    """What one caller may see and change. Created for each request."""

    def __init__(self, service: Service, caller: Principal, address: str = "") -> None:
        self._service = service
        self._viewer = service.viewer(caller, address)

    @property
    def caller(self) -> Principal:
        """The caller."""
        return self._viewer.caller

    @cached_property
    def _runs(self) -> VisibleRuns:
        return VisibleRuns(self._service, self._viewer)

    def runs(self) -> VisibleRuns:
        """Return the runs that the caller may read."""
        return self._runs

    def saved_views(self) -> OwnSavedViews:
        """Return the caller's saved views of the list of runs."""
        return OwnSavedViews(self._service, self._viewer)

    def run(self, run_id: str) -> VisibleRun:
        """Return a run that the caller may read. Raises UnknownName for any other run."""
        return self._runs.get(run_id)

    def own_run(self, run_id: str) -> OwnedRun:
        """Return a run that the caller may change. Raises UnknownName, or Refusal 403 if they may only read it."""
        return OwnedRun.find(self._service, self._viewer, run_id)

    def working_run(self, run_id: str) -> WorkingRun:
        """Return a run that the caller may work with. Raises UnknownName, or Refusal 403 if they may only read it."""
        return WorkingRun.find(self._service, self._viewer, run_id)

    def benchmarks(self) -> BenchmarkRecords:
        """Return benchmarks and leaderboards over the runs that the caller may read. Raises Refusal 403 for guests."""
        return BenchmarkRecords(self._service, self._viewer)

    def submit(
        self, wanted: RunInput | RolloutInput | BenchmarkInput, provided: Mapping[str, SecretStr] = NO_SECRETS
    ) -> OwnedRun:
        """Submit a run and return it. Raises Refusal, InvalidInput.

        `provided` are values of secrets that a rollout requires, for this run alone.
        """
        if isinstance(wanted, RunInput):
            return self.own_run(submit_run(self._service, self._viewer, wanted).run_id)
        if isinstance(wanted, BenchmarkInput) and not wanted.workspace:
            return self.own_run(submit_benchmark(self._service, self._viewer, None, wanted).run_id)
        return self.own_run(self.working_workspace(wanted.workspace).submit(wanted, provided))

    def submit_test(self, wanted: TestEpisodeInput) -> OwnedRun:
        """Submit a run of one test episode and return it. Raises Refusal."""
        return self.own_run(submit_test_episode(self._service, self._viewer, wanted).run_id)

    def episode(self, episode_id: str) -> VisibleEpisode:
        """Return an episode of a run that the caller may read. Raises UnknownName for any other run."""
        return self._runs.episode(episode_id)

    def reviews_of(self, episode_id: str) -> EpisodeReviews:
        """Return the verdicts of people on an episode. Raises UnknownName; Refusal 403 for outsiders of its run."""
        return EpisodeReviews.find(self._service, self._viewer, episode_id)

    def rounds(self) -> VisibleRounds:
        """Return the review rounds of runs that the caller sees all of."""
        return VisibleRounds(self._service, self._viewer)

    def round(self, round_id: str, reviewer: str = "") -> VisibleRound:
        """Return a review round of runs that the caller sees all of. Raises UnknownName; Refusal 401, 403 for guests.

        `reviewer` is the caller's name where there are no accounts.
        """
        return VisibleRound.find(self._service, self._viewer, round_id, reviewer=reviewer)

    def working_round(self, round_id: str, reviewer: str = "") -> WorkingRound:
        """Return a review round in which the caller may judge. Raises as `round`, and Refusal 403."""
        return WorkingRound.find(self._service, self._viewer, round_id, reviewer=reviewer)

    def own_round(self, round_id: str, reviewer: str = "") -> OwnedRound:
        """Return a review round that the caller may change. Raises as `round`, and Refusal 403."""
        return OwnedRound.find(self._service, self._viewer, round_id, reviewer=reviewer)

    def domains(self) -> VisibleDomains:
        """Return the domains that the caller may read."""
        return VisibleDomains(self._service, self._viewer)

    def domain(self, domain_id: str) -> VisibleDomain:
        """Return a domain that the caller may read. Raises Refusal 404 for any other domain."""
        return VisibleDomain.find(self._service, self._viewer, domain_id)

    def own_domain(self, domain_id: str) -> OwnedDomain:
        """Return a domain that the caller may change. Raises Refusal 404, or 403 if they may only read it."""
        return OwnedDomain.find(self._service, self._viewer, domain_id)

    def environments(self) -> OwnedEnvironments:
        """Return the submitted environments of the caller and their teams."""
        return OwnedEnvironments(self._service, self._viewer)

    def environment(self, environment_id: str) -> OwnedEnvironment:
        """Return a submitted environment of the caller or their team. Raises Refusal 404 for any other environment."""
        return OwnedEnvironment.find(self._service, self._viewer, environment_id)

    def teams(self) -> OwnTeams:
        """Return the teams of the caller."""
        return OwnTeams(self._service, self._viewer)

    def team(self, team_id: str) -> VisibleTeam:
        """Return a team that the caller is a member of. Raises Refusal 403 for any other team."""
        return VisibleTeam.find(self._service, self._viewer, team_id)

    def own_team(self, team_id: str) -> OwnedTeam:
        """Return a team that the caller owns. Raises Refusal 403 for any other team."""
        return OwnedTeam.find(self._service, self._viewer, team_id)

    def workspaces(self) -> OwnWorkspaces:
        """Return the workspaces of the caller."""
        return OwnWorkspaces(self._service, self._viewer)

    def workspace(self, reference: str) -> VisibleWorkspace:
        """Return a workspace, by id or name, that the caller is a member of. Raises Refusal 404 for any other."""
        return VisibleWorkspace.find(self._service, self._viewer, reference)

    def working_workspace(self, reference: str) -> WorkingWorkspace:
        """Return a workspace in which the caller is a member or more. Raises Refusal 404, or 403 for viewers."""
        return WorkingWorkspace.find(self._service, self._viewer, reference)

    def managed_workspace(self, reference: str) -> ManagedWorkspace:
        """Return a workspace in which the caller is an admin or owner. Raises Refusal 404, or 403 for lesser roles."""
        return ManagedWorkspace.find(self._service, self._viewer, reference)

    def owned_workspace(self, reference: str) -> OwnedWorkspace:
        """Return a workspace that the caller owns. Raises Refusal 404, or 403 for lesser roles."""
        return OwnedWorkspace.find(self._service, self._viewer, reference)

    def run_imports(self) -> OwnRunImports:
        """Return the caller's imports of runs that were played elsewhere."""
        return OwnRunImports(self._service, self._viewer)

    def run_import(self, import_id: str) -> OwnRunImport:
        """Return an import of the caller. Raises Refusal 404 for any other import."""
        return OwnRunImport.find(self._service, self._viewer, import_id)

    def repository_hook(self, repository_id: str) -> RepositoryHook:
        """Return the webhook of a repository, which accepts only those who know its secret."""
        return RepositoryHook.find(self._service, self._viewer, repository_id)

    def batch_runs(self, authorization: str = "") -> VisibleBatchRuns:
        """Return the caller's batch runs, or all with the workers' secret. Raises Refusal 401, 403, 503."""
        return VisibleBatchRuns(self._service, self._viewer, authorization)

    def account(self) -> OwnAccount:
        """Return the caller's account."""
        return OwnAccount(self._service, self._viewer)

    def authentication(self) -> Authentication:
        """Return login and logout."""
        return Authentication(self._service, self._viewer)

    def administration(self) -> Administration:
        """Return the administration. Raises Refusal 403 unless the caller is an administrator."""
        return Administration(self._service, self._viewer)

    def system(self) -> SystemInfo:
        """Return models, health and metrics of the server."""
        return SystemInfo(self._service, self._viewer)


def grant(service: Service, caller: Principal, address: str = "") -> Grant:
    """Return what `caller` may see and change; if `service` is local, that is everything."""
    return Grant(service, caller, address)


async def granted(request: Request, service: Served) -> Grant:
    """Return what the caller of a request may see and change."""
    address = client_address(request, service.settings.trusted_proxies)
    return grant(service, await principal_of(request, service), address)


Granted = Annotated[Grant, Depends(granted)]
"""A parameter of a route: what the caller may see and change."""
