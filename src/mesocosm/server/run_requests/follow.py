"""The trace of one episode as it grows, for somebody who reads along."""

from collections.abc import Iterator

import msgspec

from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName
from mesocosm.interop.replay import trace
from mesocosm.server.auth.principal import Principal
from mesocosm.server.run_requests.episodes import named_episode
from mesocosm.server.run_requests.export import RunContent, as_asked
from mesocosm.server.run_requests.found import find_episode, find_run
from mesocosm.server.run_requests.view import TERMINAL, public_status
from mesocosm.server.schemas.document import shortened
from mesocosm.server.service import Service

_OVER = FINISHED | {EpisodeStatus.CANCELLED}


class Following:
    """One reader of one episode. Methods block; call them one at a time.

    The episode may be named by its place before it has begun; then nothing comes until it has.
    """

    def __init__(self, service: Service, caller: Principal, episode_id: str) -> None:
        self._service, self._caller, self._named = service, caller, episode_id
        self.found, self._episode = find_episode(service, caller, episode_id)
        self._content = RunContent(service.store, self.found.run.id)
        self._events: list[Event] = []
        self._sent: set[bytes] = set()
        self.ended = False

    def news(self) -> list[bytes]:
        """Return the events that were not returned yet, as JSON; `ended` is set with the last of them."""
        if not self._begun():
            return []
        known = len(self._events)
        try:
            self._events += self.found.visible.events(self._episode.id, known)
        except UnknownName:
            # It is played again under another id.
            self.ended = True
            return []
        if len(self._events) == known:
            return []
        told = list(self._told())
        self.ended = self._events[-1].kind is Kind.EPISODE_END
        return told

    def look(self) -> list[bytes]:
        """Look whether the episode is over although nothing in its trace says so; return what was held back."""
        try:
            episode = named_episode(self._service, self._episode.id)
            over = episode.status in _OVER or self._run_over()
        except UnknownName:
            over = True
        if not over:
            return []
        rest = self.news()
        if not self.ended:
            self.ended = True
            rest += self._told(whole=True)
        return rest

    def _begun(self) -> bool:
        if "." in self._episode.id:
            self._episode = named_episode(self._service, self._named)
        return "." not in self._episode.id

    def _run_over(self) -> bool:
        found = find_run(self._service, self._caller, self.found.run.id)
        return public_status(found.order, found.run) in TERMINAL

    def _told(self, *, whole: bool = False) -> Iterator[bytes]:
        # What becomes of a reply (an action, a question more) is in the event after it.
        waits = not whole and self._events[-1:] and self._events[-1].kind is Kind.MODEL_CALL
        events = self._events[:-1] if waits else self._events
        for event in shortened(trace(self._episode, events, self._content)):
            data = self.found.discreet(msgspec.json.encode(as_asked(self.found, event)))
            if data not in self._sent:
                self._sent.add(data)
                yield data
