"""P1: a round tour through all places within their time windows."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Family, ProblemCase, need, once_each, travel_times

MOST_PLACES = 8
NAMES = ("Museum", "Harbour", "Castle", "Market", "Garden", "Tower", "Abbey", "Theatre")


class TourStop(msgspec.Struct, frozen=True):
    """A place to visit: the visit begins between `opens` and `closes` and takes `stay` minutes."""

    name: str
    opens: int
    closes: int
    stay: int


class Tour(msgspec.Struct, frozen=True):
    """An instance; the tour leaves `home` at minute `leaves`, and reaches `end` (default home) by minute `back_by`."""

    home: str
    leaves: int
    back_by: int
    places: tuple[TourStop, ...]
    travel: dict[str, dict[str, int]]
    end: str = ""

    @property
    def goal(self) -> str:
        """The place at which the tour ends."""
        return self.end or self.home


class TourPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan: all stops from home to the end, both included."""

    route: tuple[str, ...]


class TourFamily(Family[Tour, TourPlan]):
    """Travelling salesman with time windows."""

    instance: ClassVar[type[Tour]] = Tour
    plan: ClassVar[type[TourPlan]] = TourPlan
    example = '{"route": ["Home", "Market", "...", "Home"]}'
    rules = (
        "Plan a tour by car. It leaves `home` at minute `leaves`, visits every place exactly once, and ends at `end` "
        "(at `home` where `end` is empty) by minute `back_by`. `travel` gives the minutes of driving between places. "
        "A visit must begin within the minutes `opens` to `closes` of its place, both included, and takes `stay` "
        "minutes; whoever comes before the opening waits. Drive as few minutes as possible in all (waiting and visits "
        "do not count). A tour that misses one window or the return is worthless."
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[Tour] | None:
        """Return a case with time windows around a random tour."""
        del disrupted
        names = rng.sample(NAMES, 6)
        travel = travel_times(rng, ["Home", *names])
        leaves = minute = rng.randrange(420, 600, 5)
        places: list[TourStop] = []
        at = "Home"
        for name in names:
            minute += travel[at][name] + rng.randint(0, 5)
            stay = rng.randrange(10, 35, 5)
            places.append(TourStop(name, minute - rng.randint(10, 150), minute + rng.randint(5, 110), stay))
            minute, at = minute + stay, name
        back_by = minute + travel[at]["Home"] + rng.randint(5, 30)
        rng.shuffle(places)
        return ProblemCase(Tour("Home", leaves, back_by, tuple(places), travel))

    def measure(self, instance: Tour, plan: TourPlan, first: TourPlan | None = None) -> float:
        """Return the minutes of driving."""
        del first
        route, places = plan.route, {place.name: place for place in instance.places}
        need(len(route) >= 2, "the route has no stops")
        need(route[0] == instance.home, f"the route does not start at {instance.home}")
        need(route[-1] == instance.goal, f"the route does not end at {instance.goal}")
        once_each("place", route[1:-1], places)
        minute, driven, at = instance.leaves, 0, instance.home
        for name in route[1:-1]:
            place, leg = places[name], instance.travel[at][name]
            driven += leg
            minute = max(minute + leg, place.opens)
            need(minute <= place.closes, f"{name} is reached at minute {minute}, after it closes at {place.closes}")
            minute, at = minute + place.stay, name
        driven += _leg(instance, at)
        minute += _leg(instance, at)
        need(minute <= instance.back_by, f"the tour ends at minute {minute}, later than {instance.back_by}")
        return float(driven)

    def solve(self, instance: Tour, first: TourPlan | None = None) -> TourPlan | None:
        """Branch and bound over all orders, the nearest place first."""
        del first
        best: tuple[float, tuple[str, ...]] = (float("inf"), ())
        travel = instance.travel

        def visit(at: str, minute: int, driven: int, left: frozenset[TourStop], route: tuple[str, ...]) -> None:
            nonlocal best
            if driven >= best[0] or any(minute + travel[at][place.name] > place.closes for place in left):
                return
            if not left:
                total = driven + _leg(instance, at)
                if minute + _leg(instance, at) <= instance.back_by and total < best[0]:
                    best = (total, route)
                return
            for place in sorted(left, key=lambda found: (travel[at][found.name], found.name)):
                leg = travel[at][place.name]
                begin = max(minute + leg, place.opens)
                visit(place.name, begin + place.stay, driven + leg, left - {place}, (*route, place.name))

        visit(instance.home, instance.leaves, 0, frozenset(instance.places), (instance.home,))
        return TourPlan((*best[1], instance.goal)) if best[1] else None

    def exact(self, instance: Tour) -> bool:
        """Up to eight places."""
        return len(instance.places) <= MOST_PLACES

    def bound(self, instance: Tour) -> float | None:
        """Each place must be left once: the sum of the shortest legs out of each place."""
        starts = [instance.home, *(place.name for place in instance.places)]
        return float(sum(min(instance.travel[name].values()) for name in starts))

    def free_of_content(self, instance: Tour) -> Sequence[TourPlan]:
        """Plans with no place, one place, all in listed or reverse order, and sorted by time window."""
        names = [place.name for place in instance.places]
        closing = [place.name for place in sorted(instance.places, key=lambda place: place.closes)]
        opening = [place.name for place in sorted(instance.places, key=lambda place: place.opens)]
        middle = [place.name for place in sorted(instance.places, key=lambda place: place.opens + place.closes)]
        orders: tuple[list[str], ...] = ([], names[:1], names, names[::-1], closing, opening, middle)
        return [TourPlan((instance.home, *order, instance.goal)) for order in orders]


def _leg(instance: Tour, at: str) -> int:
    """Return the minutes from the last place to the end."""
    return 0 if at == instance.goal else instance.travel[at][instance.goal]
