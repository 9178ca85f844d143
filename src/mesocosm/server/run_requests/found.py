"""A run as somebody finds it: whose it is, what they may see of it, and the record of it through their eyes."""

from dataclasses import dataclass
from functools import cached_property

from mesocosm.compat.swecc.documents import Episode as EpisodeDocument
from mesocosm.compat.swecc.documents import Run as RunDocument
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Run
from mesocosm.server.auth.belonging import inside, readable
from mesocosm.server.auth.permissions import grant
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.redaction import Discretion
from mesocosm.server.auth.visible_runs import VisibleRun
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.episodes import episode_documents, named_episode
from mesocosm.server.run_requests.view import run_document
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest


@dataclass(frozen=True)
class Found:
    """A run that may be read by `caller`; `inside` says whether it is theirs."""

    service: Service
    caller: Principal
    order: RunRequest
    run: Run
    inside: bool

    @cached_property
    def visible(self) -> VisibleRun:
        """The run as the caller may see it."""
        return grant(self.service, self.caller).run(self.run.id)

    @cached_property
    def discretion(self) -> Discretion:
        """Takes out what only those who run the platform should read."""
        return Discretion(self.run, [self.service.settings.data_dir])

    def discreet(self, data: bytes) -> bytes:
        """Return JSON without what tells of the machines and accounts of the platform, except to those who run it."""
        return data if self.caller.admin else self.discretion(data)

    def document(self) -> RunDocument:
        """Return the run's document."""
        return run_document(self.order, self.run, inside=self.inside)

    def episodes(self, first: int = 0, limit: int | None = None) -> list[EpisodeDocument]:
        """Return its episodes, begun or not."""
        return episode_documents(self.visible, self.order, self.run, first=first, limit=limit)


def find_run(service: Service, caller: Principal, run_id: str) -> Found:
    """Return a run that the caller may read. Refuses what there is not, and what they may not see, with one 404."""
    run, order = service.store.run_requests.found(run_id, whole=False) or (None, None)
    if order is None or run is None or not readable(service, caller, order, run):
        raise Refusal(
            404,
            f"there is no run {run_id[:100]!r} that you may see; `mesocosm run list --remote` shows yours, "
            "and others are shown once they are public and have finished",
        )
    return Found(service, caller, order, run, inside(service, caller, order))


def find_episode(service: Service, caller: Principal, episode_id: str) -> tuple[Found, Episode]:
    """Return an episode by its id or its place, and its run. Refuses others' episodes and unknown ones with one 404."""
    try:
        episode = named_episode(service, episode_id)
        return find_run(service, caller, episode.run_id), episode
    except (UnknownName, Refusal):
        words = f"there is no episode {episode_id[:100]!r} that you may see; sign in, or ask the owner of its run"
        raise Refusal(404, words) from None


def own_run(service: Service, caller: Principal, run_id: str) -> Found:
    """Return a run that the caller may change. Refuses with 403 one that they may only read."""
    found = find_run(service, caller, run_id)
    if not found.inside:
        raise Refusal(403, f"run {run_id} belongs to somebody else; you may only look at it")
    return found


def found_again(service: Service, caller: Principal, found: Found) -> Found:
    """Return a run after it was changed."""
    return find_run(service, caller, found.run.id)
