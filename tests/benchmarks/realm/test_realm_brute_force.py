"""Oracles of the dinner, the relief and the supply chain against every plan there is, before and after disruptions."""

import itertools
from collections.abc import Iterable
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.benchmarks.builtin.realm.dinner import Cooking, Dinner, DinnerFamily, Dish, Evening, GuestFlight, Pickup
from mesocosm.benchmarks.builtin.realm.family import Family, Infeasible
from mesocosm.benchmarks.builtin.realm.problems import generated
from mesocosm.benchmarks.builtin.realm.relief import Closure, Relief, ReliefFamily, Shipment, Shipments
from mesocosm.benchmarks.builtin.realm.supply import Supply, SupplyFamily, SupplyOrder, SupplyPlan

numbers = st.integers(0, 10_000)
few = settings(max_examples=4, deadline=None)


def optimum(family: Family[Any, Any], instance: Any, plans: Iterable[Any], first: Any = None) -> float | None:
    """Return the best value of all feasible plans, None when there is none."""
    values = []
    for plan in plans:
        try:
            values.append(family.measure(instance, plan, first))
        except Infeasible:
            continue
    if not values:
        return None
    return max(values) if family.more_is_better else min(values)


def solved(family: Family[Any, Any], instance: Any, first: Any = None) -> float | None:
    plan = family.solve(instance, first)
    return None if plan is None else family.measure(instance, plan, first)


def evenings(dinner: Dinner, grid: list[int]) -> Iterable[Evening]:
    """Yield every evening whose activities begin on the grid."""
    cooks = [[None] if dish.oven else list(dinner.cooks) for dish in dinner.dishes]
    count = len(dinner.dishes)
    for starts in itertools.product(grid, repeat=count + len(dinner.flights)):
        for who in itertools.product(*cooks, *[dinner.cooks] * len(dinner.flights)):
            cooking = tuple(
                Cooking(dish.name, at, cook) for dish, at, cook in zip(dinner.dishes, starts, who, strict=False)
            )
            pickups = tuple(
                Pickup(flight.guest, at, cook or "")
                for flight, at, cook in zip(dinner.flights, starts[count:], who[count:], strict=True)
            )
            yield Evening(cooking, pickups)


@given(number=numbers)
@few
def test_no_evening_is_ready_before_the_oracle_s(number: int) -> None:
    rng, family = Random(number), DinnerFamily()
    dishes = (
        Dish("soup", rng.choice((10, 20, 30)), rng.random() < 0.5, ()),
        Dish("pie", rng.choice((10, 20)), oven=True, after=("soup",) if rng.random() < 0.5 else ()),
    )
    flights = (GuestFlight("Hal", rng.choice((0, 10, 30)), 10), GuestFlight("Gina", rng.choice((10, 20)), 10))
    dinner = Dinner(0, 80, ("Mira", "Otto") if rng.random() < 0.5 else ("Mira",), 1, dishes, flights)
    grid = list(range(0, 70, 10))
    assert solved(family, dinner) == optimum(family, dinner, evenings(dinner, grid))
    first = family.solve(dinner)
    if first is None:
        return
    late = (msgspec.structs.replace(flights[0], lands=flights[0].lands + 20), flights[1])
    changed = msgspec.structs.replace(dinner, flights=late, since=10)
    assert solved(family, changed, first) == optimum(family, changed, evenings(changed, grid), first)


def shipments(relief: Relief, since: int) -> Iterable[Shipments]:
    """Yield every way to use the trucks, each as soon as it is ready or at the disruption."""
    choices: list[list[Shipment | None]] = [
        [
            None,
            *(
                Shipment(truck.name, region.name, resource, departs)
                for region in relief.regions
                for resource in region.needs
                for departs in {truck.ready, max(truck.ready, since)}
            ),
        ]
        for truck in relief.trucks
    ]
    for chosen in itertools.product(*choices):
        yield Shipments(tuple(found for found in chosen if found is not None))


@given(number=numbers)
@few
def test_no_relief_is_worth_more_than_the_oracle_s(number: int) -> None:
    family, posed = ReliefFamily(), generated("P7", number, 0).posed
    regions = tuple(msgspec.structs.replace(region, urgent=False) for region in posed.regions[:3])
    small = msgspec.structs.replace(posed, trucks=posed.trucks[1:4], regions=regions)
    assert solved(family, small) == optimum(family, small, shipments(small, 0))
    first = family.solve(small)
    changed = msgspec.structs.replace(small, closed=Closure(small.trucks[-1].depot, regions[0].name), since=15)
    assert solved(family, changed, first) == optimum(family, changed, shipments(changed, 15), first)


def orders(supply: Supply, since: int) -> Iterable[SupplyPlan]:
    """Yield every split of every component over its offers, each order on its first possible day."""
    opens = {supplier.name: supplier.opens for supplier in supply.suppliers}
    days = [
        (offer, day) for offer in supply.offers for day in {opens[offer.supplier], max(opens[offer.supplier], since)}
    ]
    needed = {component.name: component.lots for component in supply.components}
    ways = []
    for name, lots in needed.items():
        own = [(offer, day) for offer, day in days if offer.component == name]
        amounts = itertools.product(range(lots + 1), repeat=len(own))
        ways.append(
            [
                tuple(SupplyOrder(o.supplier, name, n, day) for (o, day), n in zip(own, split, strict=True) if n)
                for split in amounts
                if sum(split) == lots
            ]
        )
    for chosen in itertools.product(*ways):
        yield SupplyPlan(tuple(order for part in chosen for order in part))


@given(number=numbers)
@few
def test_no_orders_are_cheaper_than_the_oracle_s(number: int) -> None:
    family, posed = SupplyFamily(), generated("P10", number, 0).posed
    components = tuple(msgspec.structs.replace(found, lots=min(found.lots, 3)) for found in posed.components[:2])
    names = {found.name for found in components}
    offers = tuple(offer for offer in posed.offers if offer.component in names)
    tight = tuple(msgspec.structs.replace(found, most_lots=3) for found in posed.suppliers)
    small = msgspec.structs.replace(posed, components=components, offers=offers, suppliers=tight, budget=2000)
    assert solved(family, small) == optimum(family, small, orders(small, 0))
    first = family.solve(small)
    if first is None:
        return
    closed = first.orders[-1].supplier
    changed = msgspec.structs.replace(small, closed=closed, since=2)
    assert solved(family, changed, first) == optimum(family, changed, orders(changed, 2), first)
