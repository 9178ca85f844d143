"""What a listener of a platform is told of changes: only of runs that they may see, and of those what they may."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mesocosm.server.auth.ownership import ownership
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.redaction import MARK
from mesocosm.server.schemas.run import RunChange, RunSummary
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest, is_public

KEPT_S = 2.0
"""Seconds for which it is remembered whose a run is: many listeners hear of the same change at once."""
MOST = 5_000
MOST_STREAMS = 2_000
MOST_OF_ONE = 50
MOST_OF_ADDRESS = 200
KNOWN_S = 15.0
"""Seconds after which it is asked again who listens: who is signed out or disabled hears no more."""


class Audience:
    """The streams of this server: so many at once, of one person, and of one address where nobody is known."""

    def __init__(self) -> None:
        self._each: Counter[str] = Counter()

    def full(self, who: str, *, known: bool) -> bool:
        """Return whether there is no room for one more of theirs."""
        return self._each.total() >= MOST_STREAMS or self._each[who] >= (MOST_OF_ONE if known else MOST_OF_ADDRESS)

    @contextmanager
    def seat(self, who: str) -> Iterator[None]:
        """Count one more while it lasts."""
        self._each[who] += 1
        try:
            yield
        finally:
            self._each[who] -= 1
            if not self._each[who]:
                del self._each[who]


class Register:
    """Whose runs are, as read a moment ago. May be used from any thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._kept: OrderedDict[str, tuple[float, RunRequest | None]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, run_ids: Iterable[str]) -> dict[str, RunRequest]:
        """Return the orders of runs; those without one are left out."""
        wanted, now = set(run_ids), time.monotonic()
        with self._lock:
            found = {name: self._kept[name][1] for name in wanted if name in self._kept and self._kept[name][0] > now}
        missing = wanted - set(found)
        if missing:
            read = self._service.run_requests.of(missing)
            with self._lock:
                for name in missing:
                    found[name] = read.get(name)
                    self._kept[name] = (now + KEPT_S, found[name])
                    self._kept.move_to_end(name)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        return {name: order for name, order in found.items() if order is not None}


class Listening:
    """One listener: who they are, and the teams that they were in a moment ago."""

    def __init__(self, service: Service, register: Register, who: Principal) -> None:
        self._service = service
        self._register = register
        self.who = who
        self._teams: frozenset[str] = frozenset()
        self._teams_until = 0.0
        self._known_until = time.monotonic() + KNOWN_S

    def stale(self) -> bool:
        """Return whether it is time to ask again who this is."""
        return not self.who.anonymous and time.monotonic() > self._known_until

    def still(self, who: Principal) -> bool:
        """Return whether it is still who it was."""
        self._known_until = time.monotonic() + KNOWN_S
        return who == self.who

    def told(self, change: RunChange) -> RunChange | None:
        """Return what of a change this listener may know; None where that is nothing."""
        orders = self._register.of([run.id for run in change.runs])
        runs = [self._shown(run, orders) for run in change.runs if self._sees(orders.get(run.id), run.state)]
        # The id of a run that is gone tells nothing to those who never saw it.
        return RunChange(runs=runs, deleted=change.deleted) if runs or change.deleted else None

    def _sees(self, order: RunRequest | None, state: str) -> bool:
        if order is None:
            return self.who.admin
        return is_public(order.visibility, state) or self._inside(order)

    def _inside(self, order: RunRequest) -> bool:
        mine = not self.who.anonymous and order.actor == self.who.actor
        return self.who.admin or mine or (order.team_id is not None and order.team_id in self._in_teams())

    def _in_teams(self) -> frozenset[str]:
        now = time.monotonic()
        if self.who.member and self.who.user_id is not None and now > self._teams_until:
            self._teams = frozenset(team.id for team in self._service.teams.teams_of(self.who.user_id))
            self._teams_until = now + KEPT_S
        return self._teams

    def _shown(self, run: RunSummary, orders: dict[str, RunRequest]) -> RunSummary:
        changes: dict[str, object] = {}
        order = orders.get(run.id)
        if order is not None:
            inside = self._inside(order)
            # The name that was asked for, not the address that is asked.
            changes = {"model": order.model, **ownership(self.who, order, inside=inside)}
            if run.error and not inside:
                changes["error"] = MARK
        return run.model_copy(update=changes) if changes else run
