"""P7: send loads of relief goods to regions by truck; a road is closed during the operation."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import ClassVar

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Family, Infeasible, ProblemCase, need

MOST_TRUCKS = 7
MOST_CHOICES = 16
RESOURCES = ("food", "medicine", "water")
REGIONS = ("Northfold", "Eastmarsh", "Southvale", "Westerly", "Highmoor")
DEPOTS = ("Depot A", "Depot B")


class Region(msgspec.Struct, frozen=True):
    """A region that needs loads of each resource by minute `due`; an `urgent` one must get at least one."""

    name: str
    severity: int
    due: int
    urgent: bool
    needs: dict[str, int]


class Truck(msgspec.Struct, frozen=True):
    """A truck that can leave its depot once, from minute `ready` on, with one load."""

    name: str
    depot: str
    ready: int


class Closure(msgspec.Struct, frozen=True):
    """A road that is closed to departures."""

    depot: str
    region: str


class Relief(msgspec.Struct, frozen=True):
    """An instance; `stock` has loads by depot and resource, `travel` the minutes from depot to region."""

    regions: tuple[Region, ...]
    trucks: tuple[Truck, ...]
    stock: dict[str, dict[str, int]]
    travel: dict[str, dict[str, int]]
    closed: Closure | None = None
    since: int | None = None


class Shipment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One load."""

    truck: str
    region: str
    resource: str
    departs: int


class Shipments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan."""

    shipments: tuple[Shipment, ...]


class ReliefFamily(Family[Relief, Shipments]):
    """Allocation with stocks, deadlines and trucks that are ready one after the other."""

    instance: ClassVar[type[Relief]] = Relief
    plan: ClassVar[type[Shipments]] = Shipments
    example = '{"shipments": [{"truck": "T1", "region": "Northfold", "resource": "water", "departs": 0}, "..."]}'
    more_is_better = True
    rules = (
        "Bring relief goods to regions. Every truck stands at its depot and can leave it at most once, at minute "
        "`ready` or later, with one load of one resource for one region; `travel` gives the minutes from depot to "
        "region, and the load must be there by the region's minute `due`. No depot can send more loads of a resource "
        "than its `stock`, and no region may be sent more loads of a resource than it `needs`. Every region that is "
        "`urgent` must get at least one load. Each load counts the `severity` of its region; make the sum as high as "
        "possible. A plan that breaks one rule is worthless."
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[Relief] | None:
        """Return a case with five trucks; the disruption closes a road that is still needed."""
        depots = DEPOTS
        regions = tuple(
            Region(
                name=name,
                severity=rng.randint(2, 10),
                due=rng.randrange(90, 260, 10),
                urgent=False,
                needs={resource: rng.randint(1, 2) for resource in sorted(rng.sample(RESOURCES, 2))},
            )
            for name in rng.sample(REGIONS, 4)
        )
        worst = max(regions, key=lambda region: region.severity)
        lowest = min(regions, key=lambda region: region.severity)
        regions = tuple(msgspec.structs.replace(region, urgent=region in (worst, lowest)) for region in regions)
        trucks = tuple(
            Truck(f"T{i}", rng.choice(depots), 0 if i < 3 else rng.randrange(30, 100, 10)) for i in range(1, 6)
        )
        stock = {depot: {resource: rng.randint(0, 2) for resource in RESOURCES} for depot in depots}
        travel = {depot: {region.name: rng.randrange(20, 160, 5) for region in regions} for depot in depots}
        posed = Relief(regions, trucks, stock, travel)
        plan = self.solve(posed)
        if plan is None or not disrupted:
            return ProblemCase(posed) if plan is not None else None
        changed = self._closed(rng, posed, plan)
        return ProblemCase(posed, changed) if changed is not None and self.solve(changed, plan) is not None else None

    def _closed(self, rng: Random, posed: Relief, plan: Shipments) -> Relief | None:
        since = rng.randrange(10, 30, 5)
        depots = {truck.name: truck.depot for truck in posed.trucks}
        later = [shipment for shipment in plan.shipments if shipment.departs >= since]
        if not later:
            return None
        hit = rng.choice(later)
        return msgspec.structs.replace(posed, closed=Closure(depots[hit.truck], hit.region), since=since)

    def measure(self, instance: Relief, plan: Shipments, first: Shipments | None = None) -> float:
        """Return the sum of the severities of all loads."""
        trucks = {truck.name: truck for truck in instance.trucks}
        regions = {region.name: region for region in instance.regions}
        stock = {depot: dict(loads) for depot, loads in instance.stock.items()}
        needs = {region.name: dict(region.needs) for region in instance.regions}
        value = 0
        for given in plan.shipments:
            truck, region = trucks.pop(given.truck, None), regions.get(given.region)
            if region is None:
                raise Infeasible(f"there is no region {given.region!r:.60}")
            if truck is None:
                raise Infeasible(f"there is no truck {given.truck!r:.60}, or it is used twice")
            self._leaves(instance, given, truck, region)
            for what, left in ((truck.depot, stock[truck.depot]), (region.name, needs[region.name])):
                left[given.resource] = left.get(given.resource, 0) - 1
                need(
                    left[given.resource] >= 0, f"{what} has not so many loads of {given.resource!r:.60} to give or take"
                )
            value += region.severity
        served = {given.region for given in plan.shipments}
        missed = [region.name for region in instance.regions if region.urgent and region.name not in served]
        need(not missed, f"the urgent region {next(iter(missed), '')} gets nothing")
        kept = _begun(instance, first)
        need(
            first is None or set(kept) == set(_begun(instance, plan)), "what had left before the disruption is changed"
        )
        return float(value)

    def _leaves(self, instance: Relief, given: Shipment, truck: Truck, region: Region) -> None:
        need(given.departs >= truck.ready, f"{truck.name} is ready at minute {truck.ready} only")
        arrives = given.departs + instance.travel[truck.depot][region.name]
        need(arrives <= region.due, f"{truck.name} is in {region.name} at minute {arrives}, after {region.due}")
        closed, since = instance.closed, instance.since
        if closed is not None and since is not None:
            shut = (truck.depot, region.name) == (closed.depot, closed.region) and given.departs >= since
            need(not shut, f"the way from {closed.depot} to {closed.region} is closed")

    def solve(self, instance: Relief, first: Shipments | None = None) -> Shipments | None:
        """Branch and bound over the load and destination of each truck."""
        kept = _begun(instance, first)
        gone = {shipment.truck for shipment in kept}
        trucks = [truck for truck in instance.trucks if truck.name not in gone]
        best: tuple[float, Shipments | None] = (-1.0, None)
        severity = {region.name: region.severity for region in instance.regions}
        choices = [self._choices(instance, truck) for truck in trucks]
        reached = {found.region for options in (kept, *choices) for found in options}
        if any(region.urgent and region.name not in reached for region in instance.regions):
            return None
        tops = [max((severity[found.region] for found in options), default=0) for options in choices]

        urgent = {region.name for region in instance.regions if region.urgent}
        wanted = sorted((r.severity for r in instance.regions for _ in range(sum(r.needs.values()))), reverse=True)

        def load(i: int, value: int, given: tuple[Shipment, ...]) -> None:
            nonlocal best
            if value + min(sum(tops[i:]), sum(wanted[: len(trucks) - i])) <= best[0]:
                return
            if len(urgent.difference(found.region for found in given)) > len(trucks) - i:
                return
            if i == len(trucks):
                plan = Shipments(given)
                if self.accepts(instance, plan, first):
                    best = (value, plan)
                return
            for option in choices[i]:
                if _room(instance, given, option, trucks[i].depot):
                    load(i + 1, value + severity[option.region], (*given, option))
            load(i + 1, value, given)

        load(0, sum(severity[found.region] for found in kept), kept)
        return best[1]

    def _choices(self, instance: Relief, truck: Truck) -> list[Shipment]:
        """Return all possible shipments of a truck, those to the most severe region first."""
        departs = truck.ready if instance.since is None else max(truck.ready, instance.since)
        closed = (instance.closed.depot, instance.closed.region) if instance.closed else None
        found = [
            Shipment(truck.name, region.name, resource, departs)
            for region in sorted(instance.regions, key=lambda region: -region.severity)
            for resource in region.needs
            if departs + instance.travel[truck.depot][region.name] <= region.due
        ]
        return [option for option in found if (truck.depot, option.region) != closed]

    def exact(self, instance: Relief) -> bool:
        """Up to seven trucks."""
        return len(instance.trucks) <= MOST_TRUCKS and sum(len(r.needs) for r in instance.regions) <= MOST_CHOICES

    def bound(self, instance: Relief) -> float | None:
        """Each truck counts at most its most severe reachable region."""
        severity = {region.name: region.severity for region in instance.regions}
        options = (self._choices(instance, truck) for truck in instance.trucks)
        return float(sum(max((severity[found.region] for found in choices), default=0) for choices in options))

    def news(self, changed: Relief) -> str:
        """Return the description of the disruption."""
        closed = changed.closed
        way = f"from {closed.depot} to {closed.region}" if closed else ""
        return (
            f"It is minute {changed.since}. Trucks that left before that minute go on as planned, and nothing can "
            f"leave earlier any more. The way {way} is closed: nobody can set out on it from now on."
        )

    def free_of_content(self, instance: Relief) -> Sequence[Shipments]:
        """Plans that are empty, send everything to one region, or send each truck to the next region in turn."""
        trucks, regions = instance.trucks, instance.regions
        worst = max(regions, key=lambda region: region.severity)
        same = tuple(Shipment(truck.name, worst.name, next(iter(worst.needs)), truck.ready) for truck in trucks)
        turn = tuple(
            Shipment(
                truck.name, regions[i % len(regions)].name, next(iter(regions[i % len(regions)].needs)), truck.ready
            )
            for i, truck in enumerate(trucks)
        )
        return [Shipments(given) for given in ((), same, turn)]


def _begun(instance: Relief, plan: Shipments | None) -> tuple[Shipment, ...]:
    """Return the shipments that left before the disruption."""
    if plan is None or instance.since is None:
        return ()
    return tuple(shipment for shipment in plan.shipments if shipment.departs < instance.since)


def _same(instance: Relief, given: Sequence[Shipment], resource: str) -> Iterator[tuple[str, str]]:
    depots = {truck.name: truck.depot for truck in instance.trucks}
    return ((depots[found.truck], found.region) for found in given if found.resource == resource)


def _room(instance: Relief, given: Sequence[Shipment], option: Shipment, depot: str) -> bool:
    """Return whether stock and need allow one more load."""
    same = list(_same(instance, given, option.resource))
    wanted = next(region.needs[option.resource] for region in instance.regions if region.name == option.region)
    sent = sum(place == depot for place, _ in same)
    got = sum(region == option.region for _, region in same)
    return sent < instance.stock[depot].get(option.resource, 0) and got < wanted
