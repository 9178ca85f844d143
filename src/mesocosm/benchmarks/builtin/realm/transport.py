"""P3 and P4: rides for passengers. P5 and P8: guests and errands of a wedding."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import ClassVar

import msgspec

from mesocosm.benchmarks.builtin.realm import fleet as fleets
from mesocosm.benchmarks.builtin.realm.family import Family, ProblemCase, travel_times
from mesocosm.benchmarks.builtin.realm.fleet import (
    FleetPlan,
    FleetProblem,
    Slowdown,
    Stop,
    TransportRequest,
    Vehicle,
    VehicleRoute,
)

PLACES = ("Station", "Clinic", "School", "Airport", "Mall", "Park", "Library", "Port", "Museum")
SHOPS = ("Bakery", "Florist", "Tailor", "Jeweller")
GATES = ("Airport", "Station", "Harbour", "Hotel")
GUESTS = ("Alma", "Ben", "Cora", "Dan", "Eve", "Finn")
ERRANDS = {"Bakery": "cake", "Florist": "flowers", "Tailor": "dress", "Jeweller": "rings"}
VENUE = "Venue"
_RULES = (
    "Every vehicle stands at its place `at` and may set out at minute `starts`; it does its stops in the given order, "
    "sets out for the next as soon as one is finished, and waits where it comes before `earliest`. A pickup happens at "
    "the `origin`, must begin within the minutes `earliest` to `latest`, and takes `stay` minutes; the dropoff happens "
    "at the `destination`, by minute `due`, and takes no time. Each request is picked up once and dropped off once, by "
    "one vehicle. The `seats` of all that are aboard may not exceed those of the vehicle, and it may drive `fuel` "
    "minutes at most in all. `travel` gives the minutes of driving between places. Drive as few minutes as possible, "
    "summed over all vehicles. A plan that breaks one rule or leaves out one request is worthless."
)


class TransportFamily(Family[FleetProblem, FleetPlan]):
    """Dial-a-ride with time windows, seats and fuel."""

    instance: ClassVar[type[FleetProblem]] = FleetProblem
    plan: ClassVar[type[FleetPlan]] = FleetPlan
    example = (
        '{"routes": [{"vehicle": "V1", "stops": [{"action": "pickup", "request": "R2"}, '
        '{"action": "dropoff", "request": "R2"}]}, "..."]}'
    )
    rules = f"Plan rides for passengers. {_RULES}"

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[FleetProblem] | None:
        """Return a case built around random routes; a disruption is a slow road or one more passenger."""
        places = rng.sample(PLACES, 6)
        travel = travel_times(rng, places, 20)
        starts = rng.randrange(420, 900, 15)
        slack = 25 if disrupted else 8
        requests: list[TransportRequest] = []
        vehicles: list[Vehicle] = []
        for number in (1, 2):
            vehicle = Vehicle(f"V{number}", rng.choice(places), rng.randint(2, 4), 0)
            trips = [_trip(rng, places, vehicle.seats) for _ in range(2)]
            made, driven = _lived(rng, travel, vehicle, starts, trips, slack)
            requests += made
            vehicles.append(msgspec.structs.replace(vehicle, fuel=driven + rng.randint(5, 12) + slack))
        posed = FleetProblem(starts, _numbered(rng, requests), tuple(vehicles), travel)
        return ProblemCase(posed, None) if not disrupted else self._disrupted(rng, posed)

    def _disrupted(self, rng: Random, posed: FleetProblem) -> ProblemCase[FleetProblem] | None:
        plan = self.solve(posed)
        if plan is None:
            return None
        changed = _slowed(rng, posed, plan) if rng.random() < 0.5 else _asked(rng, posed, plan)
        return ProblemCase(posed, changed) if changed is not None and self.solve(changed, plan) is not None else None

    def measure(self, instance: FleetProblem, plan: FleetPlan, first: FleetPlan | None = None) -> float:
        """Return the minutes of driving."""
        return fleets.measure(instance, plan, first)

    def solve(self, instance: FleetProblem, first: FleetPlan | None = None) -> FleetPlan | None:
        """Search all routes of each vehicle."""
        return fleets.solve(instance, first)

    def exact(self, instance: FleetProblem) -> bool:
        """Up to five requests and three vehicles."""
        return fleets.exact(instance)

    def news(self, changed: FleetProblem) -> str:
        """Return the description of the disruption."""
        slow = changed.slowdown
        kept = (
            f"It is minute {changed.since}. Every stop for which a vehicle set out before that minute stays as it was "
            "planned. "
        )
        if slow is not None:
            a, b = slow.between
            return (
                f"{kept}Whoever sets out between {a} and {b} (either way) from now on needs {slow.extra} minutes more."
            )
        added = msgspec.json.encode(changed.requests[-1]).decode()
        return f"{kept}One more request has come in: {added}"

    def free_of_content(self, instance: FleetProblem) -> Sequence[FleetPlan]:
        """Plans that are empty, only drop off, only pick up, use one vehicle, or assign requests in turn or by time."""
        names = [request.name for request in instance.requests]
        first = instance.vehicles[0].name
        off = tuple(Stop("dropoff", name) for name in names)
        on = tuple(Stop("pickup", name) for name in names)
        both = tuple(stop for pair in zip(on, off, strict=True) for stop in pair)
        turns = [(vehicle.name, i) for i, vehicle in enumerate(instance.vehicles)]
        count = len(turns)
        dealt = tuple(
            VehicleRoute(name, tuple(s for j in range(i, len(names), count) for s in (on[j], off[j])))
            for name, i in turns
        )
        simple = [FleetPlan((VehicleRoute(first, stops),)) for stops in (off, on, both, (*on, *off))]
        return [FleetPlan(()), *simple, FleetPlan(dealt), *_by_the_clock(instance)]


def _by_the_clock(instance: FleetProblem) -> Iterator[FleetPlan]:
    """Yield plans that assign requests by their windows: in turn or in parts, one by one or all at once."""
    names = [request.name for request in sorted(instance.requests, key=lambda found: found.earliest)]
    vehicles = [vehicle.name for vehicle in instance.vehicles]
    count, size = len(vehicles), -(-len(names) // len(vehicles))
    turns = [names[i::count] for i in range(count)]
    parts = [names[i * size : (i + 1) * size] for i in range(count)]
    for dealt in (turns, turns[::-1], parts, parts[::-1]):
        ways = [[(Stop("pickup", name), Stop("dropoff", name)) for name in part] for part in dealt]
        single = (tuple(stop for pair in pairs for stop in pair) for pairs in ways)
        together = (tuple(stop for stops in zip(*pairs, strict=True) for stop in stops) for pairs in ways)
        for routes in (single, together):
            yield FleetPlan(tuple(VehicleRoute(name, stops) for name, stops in zip(vehicles, routes, strict=True)))


class WeddingFamily(TransportFamily):
    """Guests and errands that must all be at the venue in time."""

    rules = (
        "Bring everybody and everything to a wedding. Guests and errands are `requests` (an errand takes no seat); all "
        f"go to the venue, and the ceremony begins at the minute that is `due`. {_RULES}"
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[FleetProblem] | None:
        """Return a case built around random rounds of two cars; a disruption is a slow road or a late request."""
        shops, gates = rng.sample(SHOPS, 2), rng.sample(GATES, 3)
        travel = travel_times(rng, [VENUE, *shops, *gates], 18)
        starts, slack = rng.randrange(480, 720, 15), 20 if disrupted else 6
        todo = [(ERRANDS[shop], shop, 0) for shop in shops]
        todo += [(guest, rng.choice(gates), rng.randint(1, 3)) for guest in rng.sample(GUESTS, 3)]
        rng.shuffle(todo)
        requests: list[TransportRequest] = []
        vehicles: list[Vehicle] = []
        for number, part in enumerate((todo[:3], todo[3:]), 1):
            sizes = [size for _, _, size in part]
            seats = max(2, sum(sizes) - rng.randint(0, 1), *sizes)
            vehicle = Vehicle(f"Car{number}", VENUE, seats, 0)
            trips = [
                TransportRequest(name, place, VENUE, size, 0, 0, rng.choice((0, 5, 10)), 0)
                for name, place, size in part
            ]
            made, driven = _lived(rng, travel, vehicle, starts, trips, slack)
            requests += made
            vehicles.append(msgspec.structs.replace(vehicle, fuel=driven + rng.randint(5, 15) + slack))
        ceremony = max(request.due for request in requests)
        requests = [msgspec.structs.replace(request, due=ceremony) for request in requests]
        rng.shuffle(requests)
        posed = FleetProblem(starts, tuple(requests), tuple(vehicles), travel)
        return ProblemCase(posed, None) if not disrupted else self._disrupted(rng, posed)

    def free_of_content(self, instance: FleetProblem) -> Sequence[FleetPlan]:
        """Return the plans of the base class, and one with only the errands."""
        errands = [request.name for request in instance.requests if not request.seats]
        stops = tuple(stop for name in errands for stop in (Stop("pickup", name), Stop("dropoff", name)))
        return [*super().free_of_content(instance), FleetPlan((VehicleRoute(instance.vehicles[0].name, stops),))]


def _trip(rng: Random, places: Sequence[str], seats: int) -> TransportRequest:
    origin, destination = rng.sample(places, 2)
    return TransportRequest("", origin, destination, rng.randint(1, seats), 0, 0, rng.choice((0, 1, 2)), 0)


def _lived(
    rng: Random,
    travel: dict[str, dict[str, int]],
    vehicle: Vehicle,
    starts: int,
    trips: Sequence[TransportRequest],
    slack: int,
) -> tuple[list[TransportRequest], int]:
    """Return the trips with windows around their times when one vehicle does them in turn, and its driving minutes."""
    minute, place, driven = starts, vehicle.at, 0
    made: list[TransportRequest] = []
    for trip in trips:
        leg = travel[place][trip.origin] if place != trip.origin else 0
        minute += leg + rng.randint(0, 6)
        earliest, latest = minute - rng.randint(0, 12), minute + rng.randint(3, 12) + slack
        there = travel[trip.origin][trip.destination] if trip.origin != trip.destination else 0
        minute += trip.stay + there
        driven, place = driven + leg + there, trip.destination
        due = minute + rng.randint(2, 15) + slack
        made.append(msgspec.structs.replace(trip, earliest=earliest, latest=latest, due=due))
    return made, driven


def _numbered(rng: Random, requests: list[TransportRequest]) -> tuple[TransportRequest, ...]:
    rng.shuffle(requests)
    return tuple(msgspec.structs.replace(request, name=f"R{i}") for i, request in enumerate(requests, 1))


def _legs(fleet: FleetProblem, plan: FleetPlan) -> list[tuple[int, str, str]]:
    """Return the drives of all vehicles as (departure, from, to), in order of departure."""
    found: list[tuple[int, str, str]] = []
    at = {vehicle.name: vehicle for vehicle in fleet.vehicles}
    for route in plan.routes:
        place = at[route.vehicle].at
        for leg in fleets.follow(fleet, at[route.vehicle], route.stops):
            if leg.place != place:
                found.append((leg.departed, place, leg.place))
            place = leg.place
    return sorted(found)


def _slowed(rng: Random, posed: FleetProblem, plan: FleetPlan) -> FleetProblem | None:
    """Slow down a road that the best plan still uses, or return None."""
    legs = _legs(posed, plan)
    if len(legs) < 4:
        return None
    since = legs[len(legs) // 3][0] + 1
    later = [(a, b) for departed, a, b in legs if departed >= since]
    if not later:
        return None
    slow = Slowdown(since, rng.choice(later), rng.randint(5, 12))
    return msgspec.structs.replace(posed, slowdown=slow, since=since)


def _asked(rng: Random, posed: FleetProblem, plan: FleetPlan) -> FleetProblem | None:
    """Add a request that arrives after a third of the drives, or return None."""
    legs = _legs(posed, plan)
    since = legs[len(legs) // 3][0] + 1
    a, b = rng.choice(posed.requests), rng.choice(posed.requests)
    if a.origin == b.destination:
        return None
    name = (
        f"R{len(posed.requests) + 1}" if a.name.startswith("R") else "late " + rng.choice(("parcel", "guest", "cousin"))
    )
    earliest = since + rng.randint(5, 25)
    latest = earliest + rng.randint(30, 60)
    due = b.due if b.destination == VENUE else latest + posed.travel[a.origin][b.destination] + rng.randint(15, 40)
    added = TransportRequest(name, a.origin, b.destination, 1 if a.seats else 0, earliest, latest, 1, due)
    return msgspec.structs.replace(posed, requests=(*posed.requests, added), since=since)
