"""P10: order components from suppliers within a budget; one supplier closes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import ClassVar

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Family, Infeasible, ProblemCase, need

MOST_COMPONENTS = 5
MOST_LOTS = 6
COMPONENTS = ("frames", "motors", "sensors", "cables", "panels")
SUPPLIERS = ("Axion", "Borealis", "Cobalt", "Dynamo")


class Component(msgspec.Struct, frozen=True):
    """A required component: exactly `lots` at the factory by day `due`."""

    name: str
    lots: int
    due: int


class Supplier(msgspec.Struct, frozen=True):
    """A supplier of up to `most_lots` in total; every order costs `fee`, and orders are taken from day `opens` on."""

    name: str
    most_lots: int
    fee: int
    opens: int


class SupplierOffer(msgspec.Struct, frozen=True):
    """A supplier's offer of a component: `price` per lot, delivered `lead` days after the order."""

    supplier: str
    component: str
    price: int
    lead: int


class Supply(msgspec.Struct, frozen=True):
    """An instance. From day `since` on, the supplier `closed` takes no orders."""

    components: tuple[Component, ...]
    suppliers: tuple[Supplier, ...]
    offers: tuple[SupplierOffer, ...]
    budget: int
    closed: str = ""
    since: int | None = None


class SupplyOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One order."""

    supplier: str
    component: str
    lots: int
    day: int


class SupplyPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan."""

    orders: tuple[SupplyOrder, ...]


class SupplyFamily(Family[Supply, SupplyPlan]):
    """Sourcing with capacities, lead times, fees and a budget."""

    instance: ClassVar[type[Supply]] = Supply
    plan: ClassVar[type[SupplyPlan]] = SupplyPlan
    example = '{"orders": [{"supplier": "Axion", "component": "frames", "lots": 2, "day": 0}, "..."]}'
    rules = (
        "Order components for a factory. Of every component exactly `lots` must arrive, each order by day `due`: an "
        "order placed on a day arrives `lead` days later, by the offer of its supplier for that component. A supplier "
        "takes orders from day `opens` on, delivers at most `most_lots` lots in all, and charges `fee` for every order "
        "and the offer's `price` for every lot. The total cost must stay within `budget`; spend as little as possible. "
        "Days and lots are whole numbers, lots at least 1. A plan that breaks one rule is worthless."
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[Supply] | None:
        """Return a case with four components and three suppliers, with a budget close to the lowest cost."""
        components = tuple(
            Component(name, rng.randint(2, 4), rng.randint(12, 20)) for name in rng.sample(COMPONENTS, 4)
        )
        suppliers = tuple(
            Supplier(name, rng.randint(4, 7), rng.randrange(10, 60, 5), rng.choice((0, 0, 2, 3, 4)))
            for name in rng.sample(SUPPLIERS, 3)
        )
        offers = tuple(
            SupplierOffer(supplier.name, component.name, rng.randrange(40, 160, 5), rng.randint(3, 14))
            for component in components
            for supplier in suppliers
            if rng.random() < 0.9
        )
        posed = Supply(components, suppliers, offers, 1 << 40)
        plan = self.solve(posed)
        if plan is None:
            return None
        cost = self.measure(posed, plan)
        if not disrupted:
            return ProblemCase(msgspec.structs.replace(posed, budget=int(cost * 1.12)))
        changed = self._closing(rng, posed, plan)
        revised = self.solve(changed, plan) if changed is not None else None
        if changed is None or revised is None:
            return None
        budget = int(max(cost, self.measure(changed, revised, plan)) * 1.12)
        return ProblemCase(
            msgspec.structs.replace(posed, budget=budget), msgspec.structs.replace(changed, budget=budget)
        )

    def _closing(self, rng: Random, posed: Supply, plan: SupplyPlan) -> Supply | None:
        since = rng.randint(1, 3)
        later = sorted({order.supplier for order in plan.orders if order.day >= since})
        if not later or all(order.day >= since for order in plan.orders):
            return None
        return msgspec.structs.replace(posed, closed=rng.choice(later), since=since)

    def measure(self, instance: Supply, plan: SupplyPlan, first: SupplyPlan | None = None) -> float:
        """Return the sum of prices and fees."""
        offers = {(offer.supplier, offer.component): offer for offer in instance.offers}
        suppliers = {supplier.name: supplier for supplier in instance.suppliers}
        left = {component.name: component.lots for component in instance.components}
        due = {component.name: component.due for component in instance.components}
        room = {supplier.name: supplier.most_lots for supplier in instance.suppliers}
        cost = 0
        for order in plan.orders:
            offer = offers.get((order.supplier, order.component))
            if offer is None:
                raise Infeasible(f"{order.supplier!r:.60} does not offer {order.component!r:.60}")
            supplier = suppliers[order.supplier]
            need(order.lots >= 1, f"an order of {order.lots} lots is none")
            need(order.day >= supplier.opens, f"{supplier.name} takes orders from day {supplier.opens} on")
            arrives = order.day + offer.lead
            need(
                arrives <= due[order.component],
                f"{order.component} of {supplier.name} arrive on day {arrives}, too late",
            )
            late = instance.since is not None and order.supplier == instance.closed and order.day >= instance.since
            need(not late, f"{supplier.name} takes no orders any more")
            left[order.component] -= order.lots
            room[supplier.name] -= order.lots
            cost += supplier.fee + offer.price * order.lots
        need(not any(left.values()), f"not exactly what is needed is ordered: {left}")
        need(min(room.values()) >= 0, f"a supplier is asked for more than it can deliver: {room}")
        need(cost <= instance.budget, f"the orders cost {cost}, more than the budget {instance.budget}")
        kept, now = (Counter(_placed(instance, one)) for one in (first, plan))
        need(first is None or kept == now, "what was ordered before the disruption is changed")
        return float(cost)

    def solve(self, instance: Supply, first: SupplyPlan | None = None) -> SupplyPlan | None:
        """Branch and bound: one component after the other, over every split among its suppliers."""
        kept = _placed(instance, first)
        fees = {supplier.name: supplier.fee for supplier in instance.suppliers}
        prices = {(offer.supplier, offer.component): offer.price for offer in instance.offers}
        left = {component.name: component.lots for component in instance.components}
        room = {supplier.name: supplier.most_lots for supplier in instance.suppliers}
        for order in kept:
            left[order.component] -= order.lots
            room[order.supplier] -= order.lots
        options = {name: _usable(instance, name) for name in left}
        floors = [
            _floor(lots, [(offer.price, fees[offer.supplier]) for offer, _ in options[name]])
            for name, lots in left.items()
        ]
        names = list(left)
        best: tuple[float, tuple[SupplyOrder, ...] | None] = (instance.budget + 1, None)

        def buy(i: int, cost: float, free: dict[str, int], orders: tuple[SupplyOrder, ...]) -> None:
            nonlocal best
            if cost + sum(floors[i:]) >= best[0]:
                return
            if i == len(names):
                best = (cost, orders)
                return
            for split in _splits(left[names[i]], options[names[i]], free):
                price = sum(
                    fees[order.supplier] + prices[order.supplier, order.component] * order.lots for order in split
                )
                remaining = dict(free)
                for order in split:
                    remaining[order.supplier] -= order.lots
                buy(i + 1, cost + price, remaining, orders + split)

        spent = sum(fees[order.supplier] + prices[order.supplier, order.component] * order.lots for order in kept)
        buy(0, spent, room, kept)
        return SupplyPlan(best[1]) if best[1] is not None else None

    def exact(self, instance: Supply) -> bool:
        """Up to five components of six lots from four suppliers."""
        small = all(component.lots <= MOST_LOTS for component in instance.components)
        return small and len(instance.components) <= MOST_COMPONENTS and len(instance.suppliers) <= len(SUPPLIERS)

    def bound(self, instance: Supply) -> float | None:
        """Each component costs at least its lots at the lowest price plus the lowest fee."""
        fees = {supplier.name: supplier.fee for supplier in instance.suppliers}
        floors = [
            _floor(component.lots, [(o.price, fees[o.supplier]) for o, _ in _usable(instance, component.name)])
            for component in instance.components
        ]
        return float(sum(floors)) if all(floor < float("inf") for floor in floors) else None

    def news(self, changed: Supply) -> str:
        """Return the description of the disruption."""
        return (
            f"It is day {changed.since}. Orders placed before that day stay and will be delivered; no other order can "
            f"be placed on an earlier day. {changed.closed} takes no orders from now on. The budget is the same."
        )

    def free_of_content(self, instance: Supply) -> Sequence[SupplyPlan]:
        """Plans that are empty, or order all on day 0 from one supplier, the first listed, or the cheapest."""
        needed = {component.name: component.lots for component in instance.components}
        one = [
            tuple(SupplyOrder(supplier.name, name, lots, supplier.opens) for name, lots in needed.items())
            for supplier in instance.suppliers
        ]
        opens = {supplier.name: supplier.opens for supplier in instance.suppliers}
        listed = {offer.component: offer for offer in reversed(instance.offers)}
        dear = sorted(instance.offers, key=lambda offer: -offer.price)
        cheap = {offer.component: offer for offer in dear}
        taken = [
            tuple(
                SupplyOrder(offer.supplier, name, needed[name], opens[offer.supplier]) for name, offer in found.items()
            )
            for found in (listed, cheap)
        ]
        huge = tuple(SupplyOrder(offer.supplier, offer.component, 10**9, 0) for offer in instance.offers)
        return [SupplyPlan(orders) for orders in ((), *one, *taken, huge)]


def _placed(instance: Supply, plan: SupplyPlan | None) -> tuple[SupplyOrder, ...]:
    """Return the orders that were placed before the disruption."""
    if plan is None or instance.since is None:
        return ()
    return tuple(order for order in plan.orders if order.day < instance.since)


def _usable(instance: Supply, component: str) -> list[tuple[SupplierOffer, int]]:
    """Return the offers for a component that can still arrive in time, each with its earliest possible order day."""
    opens = {supplier.name: supplier.opens for supplier in instance.suppliers}
    due = next(found.due for found in instance.components if found.name == component)
    found: list[tuple[SupplierOffer, int]] = []
    for offer in instance.offers:
        day = max(opens[offer.supplier], instance.since or 0)
        shut = instance.since is not None and offer.supplier == instance.closed
        if offer.component == component and not shut and day + offer.lead <= due:
            found.append((offer, day))
    return found


def _floor(lots: int, offers: Sequence[tuple[int, int]]) -> float:
    if not lots:
        return 0.0
    return min((price for price, _ in offers), default=float("inf")) * lots + min((fee for _, fee in offers), default=0)


def _splits(
    lots: int, options: Sequence[tuple[SupplierOffer, int]], room: dict[str, int]
) -> Iterator[tuple[SupplyOrder, ...]]:
    """Yield every way to order a number of lots."""
    if not lots:
        yield ()
        return
    if not options:
        return
    offer, day = options[0]
    for taken in range(min(lots, room[offer.supplier]), -1, -1):
        head = (SupplyOrder(offer.supplier, offer.component, taken, day),) if taken else ()
        for rest in _splits(lots - taken, options[1:], room):
            yield head + rest
