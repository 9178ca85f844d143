"""P6 and P9: cook dishes and fetch guests from the airport before dinner."""

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import ClassVar, NamedTuple

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Family, ProblemCase, need, once_each

MOST_ACTIVITIES = 8
DISHES = ("roast", "gratin", "soup", "salad", "pie", "bread", "sauce", "pudding")
GUESTS = ("Gina", "Hal", "Ines", "Jon")
COOKS = ("Mira", "Otto", "Petra", "Quentin")


class Dish(msgspec.Struct, frozen=True):
    """A dish takes `minutes`, of the oven or of a cook; the dishes `after` must be finished before it begins."""

    name: str
    minutes: int
    oven: bool
    after: tuple[str, ...]


class GuestFlight(msgspec.Struct, frozen=True):
    """A guest who lands at minute `lands`; the airport is `drive` minutes from home."""

    guest: str
    lands: int
    drive: int


class Dinner(msgspec.Struct, frozen=True):
    """An instance; cooks are at home from minute `starts`, and `ovens` dishes can be baked at once."""

    starts: int
    dinner_at: int
    cooks: tuple[str, ...]
    ovens: int
    dishes: tuple[Dish, ...]
    flights: tuple[GuestFlight, ...]
    since: int | None = None


class Cooking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The start of a dish, and its cook; None for an oven dish."""

    dish: str
    start: int
    cook: str | None


class Pickup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The driver who fetches a guest, and the minute of leaving home."""

    guest: str
    leaves: int
    driver: str


class Evening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan."""

    cooking: tuple[Cooking, ...]
    pickups: tuple[Pickup, ...]


class Spell(NamedTuple):
    """One activity with its time; `who` is None for the oven."""

    name: str
    start: int
    end: int
    who: str | None
    oven: bool


class DinnerFamily(Family[Dinner, Evening]):
    """Project scheduling with people and an oven."""

    instance: ClassVar[type[Dinner]] = Dinner
    plan: ClassVar[type[Evening]] = Evening
    example = (
        '{"cooking": [{"dish": "soup", "start": 965, "cook": "Mira"}, {"dish": "pie", "start": 960, "cook": null}], '
        '"pickups": [{"guest": "Hal", "leaves": 990, "driver": "Otto"}]}'
    )
    rules = (
        "Plan the afternoon before a family dinner. Every dish is made once and takes its `minutes` without a break. A "
        "dish with `oven` true needs a place in the oven (of `ovens`) and nobody's time: its `cook` is null. Any "
        "other dish needs one of the `cooks` all the time. The dishes in `after` must be finished before it begins. "
        "Every guest is fetched once by one of the cooks, alone in a car: whoever leaves home at minute `leaves` is at "
        "the airport `drive` minutes later, waits until the guest has landed (`lands`), and is back with the guest "
        "after another `drive` minutes; each trip fetches one guest. Nobody does two things at once, and nothing "
        "begins before minute `starts`. All dishes must be finished and all guests at home by minute `dinner_at`. Be "
        "ready as early as possible: what counts is the time from `starts` until everything is finished. A plan that "
        "breaks one rule is worthless."
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[Dinner] | None:
        """Return a case with five dishes and two flights; the disruption is a delay."""
        starts = rng.randrange(840, 1000, 15)
        names = rng.sample(DISHES, 5)
        dishes: list[Dish] = []
        for i, name in enumerate(names):
            after = tuple(sorted(rng.sample(names[:i], 1))) if i and rng.random() < 0.5 else ()
            dishes.append(Dish(name, rng.randrange(15, 65, 5), rng.random() < 0.4, after))
        flights = [
            GuestFlight(guest, starts + rng.randrange(20, 80, 5), rng.randrange(15, 35, 5))
            for guest in rng.sample(GUESTS, 2)
        ]
        rng.shuffle(dishes)
        posed = Dinner(starts, 1 << 20, tuple(rng.sample(COOKS, 2)), 1, tuple(dishes), tuple(flights))
        plan = self.solve(posed)
        if plan is None:
            return None
        ready = int(self.measure(posed, plan))
        slack = rng.randint(50, 70) if disrupted else rng.randint(5, 20)
        posed = msgspec.structs.replace(posed, dinner_at=starts + ready + slack)
        if not disrupted:
            return ProblemCase(posed)
        late = rng.randrange(2)
        since = flights[late].lands - rng.randint(5, 20)
        flights[late] = msgspec.structs.replace(flights[late], lands=flights[late].lands + rng.randrange(20, 45, 5))
        changed = msgspec.structs.replace(posed, flights=tuple(flights), since=since)
        return ProblemCase(posed, changed) if self.solve(changed, plan) is not None else None

    def measure(self, instance: Dinner, plan: Evening, first: Evening | None = None) -> float:
        """Return the minutes from the start until everything is finished."""
        once_each("dish", (cooking.dish for cooking in plan.cooking), (dish.name for dish in instance.dishes))
        once_each("guest", (pickup.guest for pickup in plan.pickups), (flight.guest for flight in instance.flights))
        spells = {spell.name: spell for spell in _spells(instance, plan)}
        for spell in spells.values():
            need(spell.start >= instance.starts, f"{spell.name} begins before minute {instance.starts}")
            need(
                spell.end <= instance.dinner_at, f"{spell.name} is finished at minute {spell.end}, after dinner begins"
            )
            need(spell.oven == (spell.who is None), f"{spell.name} is given {spell.who!r:.60}; an oven dish needs null")
            need(spell.oven or spell.who in instance.cooks, f"there is no cook {spell.who!r:.60}")
        for dish in instance.dishes:
            for other in dish.after:
                need(spells[other].end <= spells[dish.name].start, f"{dish.name} begins before {other} is finished")
        for cook in instance.cooks:
            need(_most_at_once([s for s in spells.values() if s.who == cook]) <= 1, f"{cook} does two things at once")
        need(_most_at_once([s for s in spells.values() if s.oven]) <= instance.ovens, "the oven is overfull")
        _kept(instance, plan, first)
        return float(max(spell.end for spell in spells.values()) - instance.starts)

    def solve(self, instance: Dinner, first: Evening | None = None) -> Evening | None:
        """Try all orders in which activities can be scheduled as early as possible; then assign them to the cooks."""
        fixed = list(_spells(instance, _begun(instance, first)))
        search = _Search(instance, self.bound(instance) or 0.0)
        search.branch(fixed)
        if not search.best:
            return None
        plan = _dealt(instance, search.best)
        return plan if self.accepts(instance, plan, first) else None

    def exact(self, instance: Dinner) -> bool:
        """Up to eight dishes and flights."""
        return len(instance.dishes) + len(instance.flights) <= MOST_ACTIVITIES

    def bound(self, instance: Dinner) -> float | None:
        """The maximum of: the longest chain of dishes, the last arrival at home, the work per oven and per person."""
        home = [flight.lands + flight.drive - instance.starts for flight in instance.flights]
        work = sum(dish.minutes for dish in instance.dishes if not dish.oven)
        work += sum(2 * flight.drive for flight in instance.flights)
        baking = sum(dish.minutes for dish in instance.dishes if dish.oven)
        shares = (math.ceil(work / len(instance.cooks)), math.ceil(baking / instance.ovens))
        return float(max(*_tails(instance).values(), *home, *shares))

    def news(self, changed: Dinner) -> str:
        """Return the description of the disruption."""
        times = ", ".join(f"{flight.guest} lands at minute {flight.lands}" for flight in changed.flights)
        return (
            f"It is minute {changed.since}. Whatever was to begin before that minute has begun as planned, by whom it "
            f"was planned, and goes on; nothing new can begin before it. One flight is late; the flights now: {times}."
        )

    def free_of_content(self, instance: Dinner) -> Sequence[Evening]:
        """Plans that are empty, only cook, only fetch, do everything at once with one cook, or one by one in order."""
        cook = instance.cooks[0]
        at_once = tuple(Cooking(d.name, instance.starts, None if d.oven else cook) for d in instance.dishes)
        fetched = tuple(Pickup(flight.guest, instance.starts, cook) for flight in instance.flights)
        minute = instance.starts
        row: list[Cooking] = []
        for dish in instance.dishes:
            row.append(Cooking(dish.name, minute, None if dish.oven else cook))
            minute += dish.minutes
        late = tuple(Pickup(flight.guest, minute + i * 120, cook) for i, flight in enumerate(instance.flights))
        plans = [((), ()), (at_once, ()), ((), fetched), (at_once, fetched), (tuple(row), late), (tuple(row), ())]
        return [Evening(cooking, pickups) for cooking, pickups in plans]


def _spells(instance: Dinner, plan: Evening) -> Iterator[Spell]:
    """Yield the activities of a plan, named as in the instance."""
    dishes = {dish.name: dish for dish in instance.dishes}
    flights = {flight.guest: flight for flight in instance.flights}
    for cooking in plan.cooking:
        dish = dishes[cooking.dish]
        yield Spell(dish.name, cooking.start, cooking.start + dish.minutes, cooking.cook, dish.oven)
    for pickup in plan.pickups:
        flight = flights[pickup.guest]
        end = max(pickup.leaves + flight.drive, flight.lands) + flight.drive
        yield Spell(flight.guest, pickup.leaves, end, pickup.driver, oven=False)


def _most_at_once(spells: Sequence[Spell]) -> int:
    return max((sum(other.start <= spell.start < other.end for other in spells) for spell in spells), default=0)


def _begun(instance: Dinner, first: Evening | None) -> Evening:
    """Return the part of a first plan that had begun before the disruption."""
    since = instance.since
    if first is None or since is None:
        return Evening((), ())
    return Evening(
        tuple(cooking for cooking in first.cooking if cooking.start < since),
        tuple(pickup for pickup in first.pickups if pickup.leaves < since),
    )


def _kept(instance: Dinner, plan: Evening, first: Evening | None) -> None:
    if first is None or instance.since is None:
        return
    before, now = _begun(instance, first), _begun(instance, plan)
    same = set(before.cooking) == set(now.cooking) and set(before.pickups) == set(now.pickups)
    need(same, f"what had begun before minute {instance.since} is not what the first plan said")


def _tails(instance: Dinner) -> dict[str, int]:
    """Return for each dish the minutes from its start to the end of the longest chain that depends on it."""
    tails: dict[str, int] = {}

    def tail(dish: Dish) -> int:
        if dish.name not in tails:
            following = [tail(other) for other in instance.dishes if dish.name in other.after]
            tails[dish.name] = dish.minutes + max(following, default=0)
        return tails[dish.name]

    for dish in instance.dishes:
        tail(dish)
    return tails


class _Search:
    """Serial schedules: each activity as early as possible, in every order; people are interchangeable and counted."""

    def __init__(self, instance: Dinner, bound: float) -> None:
        self.instance = instance
        self.least = instance.starts + bound
        self.floor = instance.starts if instance.since is None else max(instance.starts, instance.since)
        self.tails = _tails(instance)
        self.end = instance.dinner_at + 1
        self.best: list[Spell] = []
        self.names = len(instance.dishes) + len(instance.flights)
        self.seen: set[frozenset[tuple[str, int]]] = set()

    def branch(self, placed: list[Spell]) -> None:
        """Add each activity whose predecessors are placed; prune by the bound."""
        state = frozenset((spell.name, spell.start) for spell in placed)
        if self.end <= self.least or state in self.seen:
            return
        self.seen.add(state)
        if len(placed) == self.names:
            end = max(spell.end for spell in placed)
            if end < self.end:
                self.end, self.best = end, placed
            return
        options = sorted(self.options(placed), key=lambda option: (option[0].start, -option[1], option[0].name))
        # If an activity cannot begin early enough now, adding others cannot help.
        if all(spell.start + tail < self.end for spell, tail in options):
            for spell, _ in options:
                self.branch([*placed, spell])

    def options(self, placed: list[Spell]) -> Iterator[tuple[Spell, int]]:
        """Yield each possible next activity at its earliest time, and the minutes until its dependents are finished."""
        ends = {spell.name: spell.end for spell in placed}
        for dish in self.instance.dishes:
            if dish.name not in ends and all(other in ends for other in dish.after):
                ready = max([self.floor, *(ends[other] for other in dish.after)])
                start = self.earliest(placed, ready, dish.minutes, dish.oven)
                yield Spell(dish.name, start, start + dish.minutes, None, dish.oven), self.tails[dish.name]
        for flight in self.instance.flights:
            if flight.guest not in ends:
                ready, minutes = max(self.floor, flight.lands - flight.drive), 2 * flight.drive
                start = self.earliest(placed, ready, minutes, oven=False)
                yield Spell(flight.guest, start, start + minutes, None, oven=False), minutes

    def earliest(self, placed: list[Spell], ready: int, minutes: int, oven: bool) -> int:
        """Return the first minute from `ready` on at which an oven or a person is free for `minutes`."""
        most = self.instance.ovens if oven else len(self.instance.cooks)
        rivals = [spell for spell in placed if spell.oven == oven and spell.end > ready]
        for start in sorted({ready, *(spell.end for spell in rivals)}):
            times = [start, *(spell.start for spell in rivals if start < spell.start < start + minutes)]
            if all(sum(spell.start <= time < spell.end for spell in rivals) < most for time in times):
                return start
        raise AssertionError("after the last end everything is free")


def _dealt(instance: Dinner, spells: Sequence[Spell]) -> Evening:
    """Return the plan in which every activity that needs a person is assigned to one who is free."""
    guests = {flight.guest for flight in instance.flights}
    free = dict.fromkeys(instance.cooks, -1)
    for spell in spells:
        if spell.who is not None:
            free[spell.who] = max(free[spell.who], spell.end)
    who: dict[str, str | None] = {spell.name: spell.who for spell in spells}
    for spell in sorted(spells, key=lambda found: found.start):
        if not spell.oven and spell.who is None:
            cook = min((name for name in instance.cooks if free[name] <= spell.start), default=instance.cooks[0])
            who[spell.name], free[cook] = cook, spell.end
    cooking = tuple(Cooking(spell.name, spell.start, who[spell.name]) for spell in spells if spell.name not in guests)
    pickups = tuple(
        Pickup(spell.name, spell.start, who[spell.name] or instance.cooks[0])
        for spell in spells
        if spell.name in guests
    )
    return Evening(cooking, pickups)
