"""Vehicles that collect and deliver: rides (P3, P4) and a wedding (P5, P8) share clock, rules and solver."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Infeasible, need, once_each

MOST_REQUESTS = 5
MOST_VEHICLES = 3


class TransportRequest(msgspec.Struct, frozen=True):
    """A person or a load to bring from `origin` to `destination`.

    It is collected between `earliest` and `latest`, which takes `stay` minutes, and delivered by minute `due`.
    """

    name: str
    origin: str
    destination: str
    seats: int
    earliest: int
    latest: int
    stay: int
    due: int


class Vehicle(msgspec.Struct, frozen=True):
    """A vehicle that starts at `at` and can drive at most `fuel` minutes."""

    name: str
    at: str
    seats: int
    fuel: int


class Slowdown(msgspec.Struct, frozen=True):
    """From minute `since` on, a drive between two places (in either direction) takes `extra` more minutes."""

    since: int
    between: tuple[str, str]
    extra: int


class FleetProblem(msgspec.Struct, frozen=True):
    """An instance; all vehicles may leave from minute `starts` on. `since` is the minute of a disruption."""

    starts: int
    requests: tuple[TransportRequest, ...]
    vehicles: tuple[Vehicle, ...]
    travel: dict[str, dict[str, int]]
    slowdown: Slowdown | None = None
    since: int | None = None

    def minutes(self, a: str, b: str, departs: int) -> int:
        """Return the minutes from `a` to `b` when leaving at minute `departs`."""
        if a == b:
            return 0
        slow = self.slowdown
        more = slow.extra if slow is not None and departs >= slow.since and {a, b} == set(slow.between) else 0
        return self.travel[a][b] + more


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One action of a vehicle."""

    action: Literal["pickup", "dropoff"]
    request: str


class VehicleRoute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All actions of a vehicle, in order."""

    vehicle: str
    stops: tuple[Stop, ...]


class FleetPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan."""

    routes: tuple[VehicleRoute, ...]


class Leg(NamedTuple):
    """One executed stop: the departure for it, and the vehicle's place, time and driven minutes after it."""

    stop: Stop
    departed: int
    place: str
    minute: int
    driven: int


def follow(fleet: FleetProblem, vehicle: Vehicle, stops: Sequence[Stop]) -> Iterator[Leg]:
    """Yield a vehicle's stops as they are executed. Raises Infeasible at the first impossible one."""
    requests = {request.name: request for request in fleet.requests}
    aboard: dict[str, TransportRequest] = {}
    minute, place, driven = fleet.starts, vehicle.at, 0
    for stop in stops:
        request = requests[stop.request]
        departed, target = minute, request.origin if stop.action == "pickup" else request.destination
        leg = fleet.minutes(place, target, departed)
        driven, minute, place = driven + leg, minute + leg, target
        need(driven <= vehicle.fuel, f"{vehicle.name} has fuel for {vehicle.fuel} minutes only")
        if stop.action == "pickup":
            minute = max(minute, request.earliest)
            need(minute <= request.latest, f"{request.name} is collected at minute {minute}, after {request.latest}")
            aboard[request.name] = request
            seats = sum(one.seats for one in aboard.values())
            need(seats <= vehicle.seats, f"{vehicle.name} has {vehicle.seats} seats and {seats} are needed")
            minute += request.stay
        else:
            need(request.name in aboard, f"{request.name} is not aboard {vehicle.name} when it should be delivered")
            need(minute <= request.due, f"{request.name} is delivered at minute {minute}, after {request.due}")
            del aboard[request.name]
        yield Leg(stop, departed, place, minute, driven)
    need(not aboard, f"{next(iter(aboard), '')} is collected by {vehicle.name} and never delivered")


def begun(fleet: FleetProblem, plan: FleetPlan | None) -> dict[str, tuple[Stop, ...]]:
    """Return for each vehicle the stops for which it had left before the disruption."""
    found: dict[str, tuple[Stop, ...]] = {vehicle.name: () for vehicle in fleet.vehicles}
    if plan is None or fleet.since is None:
        return found
    stops = {route.vehicle: route.stops for route in plan.routes}
    for vehicle in fleet.vehicles:
        kept: list[Stop] = []
        try:
            for leg in follow(fleet, vehicle, stops.get(vehicle.name, ())):
                if leg.departed >= fleet.since:
                    break
                kept.append(leg.stop)
        except Infeasible:
            # The revised plan must fix what is infeasible after the disruption; earlier stops are kept.
            pass
        found[vehicle.name] = tuple(kept)
    return found


def measure(fleet: FleetProblem, plan: FleetPlan, first: FleetPlan | None) -> float:
    """Return the total driving minutes of all vehicles. Raises Infeasible."""
    vehicles = {vehicle.name: vehicle for vehicle in fleet.vehicles}
    names = [route.vehicle for route in plan.routes]
    need(len(set(names)) == len(names), "a vehicle has two routes")
    need(set(names) <= set(vehicles), f"there is no vehicle {next((n for n in names if n not in vehicles), '')!r:.60}")
    stops = {route.vehicle: route.stops for route in plan.routes}
    wanted = [request.name for request in fleet.requests]
    for action in ("pickup", "dropoff"):
        done = (stop.request for route in plan.routes for stop in route.stops if stop.action == action)
        once_each(f"{action} of", done, wanted)
    for name, kept in begun(fleet, first).items():
        need(stops.get(name, ())[: len(kept)] == kept, f"{name} had begun something else before the disruption")
    driven = 0
    for route in plan.routes:
        legs = list(follow(fleet, vehicles[route.vehicle], route.stops))
        driven += legs[-1].driven if legs else 0
    return float(driven)


def exact(fleet: FleetProblem) -> bool:
    """Return whether a fleet is small enough to solve."""
    return len(fleet.requests) <= MOST_REQUESTS and len(fleet.vehicles) <= MOST_VEHICLES


Table = dict[int, tuple[int, tuple[Stop, ...]]]


def solve(fleet: FleetProblem, first: FleetPlan | None) -> FleetPlan | None:
    """Return the routes with the fewest minutes: the best of each vehicle for each set of requests, then the split."""
    kept = begun(fleet, first)
    whole = (1 << len(fleet.requests)) - 1
    elsewhere = {
        vehicle: {stop.request for name, stops in kept.items() if name != vehicle for stop in stops} for vehicle in kept
    }
    best: dict[int, tuple[int, tuple[VehicleRoute, ...]]] = {0: (0, ())}
    for vehicle in fleet.vehicles:
        table = _Search(fleet, vehicle, elsewhere[vehicle.name]).run(kept[vehicle.name])
        joined: dict[int, tuple[int, tuple[VehicleRoute, ...]]] = {}
        for mask, (cost, routes) in best.items():
            for more, (driven, stops) in table.items():
                if mask & more == 0 and cost + driven < joined.get(mask | more, (1 << 60, ()))[0]:
                    joined[mask | more] = (cost + driven, (*routes, VehicleRoute(vehicle.name, stops)))
        best = joined
    return FleetPlan(best[whole][1]) if whole in best else None


class _Search:
    """All valid routes of one vehicle; for each set of requests the shortest is kept."""

    def __init__(self, fleet: FleetProblem, vehicle: Vehicle, elsewhere: set[str]) -> None:
        self.fleet = fleet
        self.vehicle = vehicle
        self.free = [(1 << i, request) for i, request in enumerate(fleet.requests) if request.name not in elsewhere]
        self.bits: Mapping[str, int] = {request.name: 1 << i for i, request in enumerate(fleet.requests)}
        self.table: Table = {}

    def run(self, kept: Sequence[Stop]) -> Table:
        """Return the table of routes that begin with `kept`."""
        requests = {request.name: request for request in self.fleet.requests}
        aboard: dict[str, TransportRequest] = {}
        place, minute, driven, taken = self.vehicle.at, self.fleet.starts, 0, 0
        try:
            for leg in follow(self.fleet, self.vehicle, kept):
                place, minute, driven = leg.place, leg.minute, leg.driven
                name = leg.stop.request
                taken |= self.bits[name]
                if leg.stop.action == "pickup":
                    aboard[name] = requests[name]
                else:
                    del aboard[name]
        except Infeasible:
            # The kept stops may end with a passenger aboard, which `follow` reports as infeasible; this is expected
            # here.
            pass
        self.branch(place, minute, driven, taken, tuple(aboard.values()), tuple(kept))
        return self.table

    def branch(
        self,
        place: str,
        minute: int,
        driven: int,
        taken: int,
        aboard: tuple[TransportRequest, ...],
        stops: tuple[Stop, ...],
    ) -> None:
        """Try every next pickup, and every delivery of all passengers to one destination."""
        fleet = self.fleet
        if any(minute + fleet.minutes(place, one.destination, minute) > one.due for one in aboard):
            return
        if not aboard and driven < self.table.get(taken, (1 << 60, ()))[0]:
            self.table[taken] = (driven, stops)
        for target in dict.fromkeys(one.destination for one in aboard):
            leg = fleet.minutes(place, target, minute)
            leaving = tuple(one for one in aboard if one.destination == target)
            if driven + leg <= self.vehicle.fuel and all(minute + leg <= one.due for one in leaving):
                staying = tuple(one for one in aboard if one.destination != target)
                done = (*stops, *(Stop("dropoff", one.name) for one in leaving))
                self.branch(target, minute + leg, driven + leg, taken, staying, done)
        seats = self.vehicle.seats - sum(one.seats for one in aboard)
        for bit, one in self.free:
            if taken & bit or one.seats > seats:
                continue
            leg = fleet.minutes(place, one.origin, minute)
            begin = max(minute + leg, one.earliest)
            if begin <= one.latest and driven + leg <= self.vehicle.fuel:
                more = (*stops, Stop("pickup", one.name))
                self.branch(one.origin, begin + one.stay, driven + leg, taken | bit, (*aboard, one), more)
