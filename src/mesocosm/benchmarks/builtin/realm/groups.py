"""P2: assign guides and starting times to visitor groups."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Family, ProblemCase, need, once_each

MOST_GROUPS = 7
LANGUAGES = ("English", "French", "German", "Spanish")
GUIDES = ("Ana", "Bruno", "Clara", "David", "Elif", "Farid")


class VisitorGroup(msgspec.Struct, frozen=True):
    """Visitors who want one guided tour of `minutes` that begins between `earliest` and `latest`."""

    name: str
    size: int
    language: str
    earliest: int
    latest: int
    minutes: int


class Guide(msgspec.Struct, frozen=True):
    """A guide who takes up to `most_visitors` at once, works from `starts` to `ends`, and gets `fee` for each tour."""

    name: str
    languages: tuple[str, ...]
    most_visitors: int
    starts: int
    ends: int
    fee: int


class GroupProblem(msgspec.Struct, frozen=True):
    """An instance; a guide needs `pause` minutes between two tours, and a minute of waiting costs `waiting_price`."""

    groups: tuple[VisitorGroup, ...]
    guides: tuple[Guide, ...]
    pause: int
    waiting_price: int


class Assignment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The guide and starting minute of a group."""

    group: str
    guide: str
    start: int


class Assignments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan."""

    assignments: tuple[Assignment, ...]


class GroupFamily(Family[GroupProblem, Assignments]):
    """Assignment with languages, sizes, shifts and windows."""

    instance: ClassVar[type[GroupProblem]] = GroupProblem
    plan: ClassVar[type[Assignments]] = Assignments
    example = '{"assignments": [{"group": "G1", "guide": "Ana", "start": 600}, "..."]}'
    rules = (
        "Give every visitor group exactly one guide and a starting minute. The guide must speak the group's language "
        "and take its size (`most_visitors`). The tour must start within the minutes `earliest` to `latest` of the "
        "group, lasts its `minutes`, and must lie within the guide's shift (`starts` to `ends`). A guide leads one "
        "group at a time and needs `pause` minutes between the end of a tour and the start of the next. A tour costs "
        "the guide's `fee`, and `waiting_price` for every minute that it starts after the group's `earliest`. Keep "
        "the total cost as low as possible. A plan that breaks one rule is worthless."
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[GroupProblem] | None:
        """Return a case built around a random timetable."""
        del disrupted
        pause = rng.choice((5, 10, 15))
        guides: list[Guide] = []
        groups: list[VisitorGroup] = []
        for name in rng.sample(GUIDES, 3):
            spoken = tuple(sorted(rng.sample(LANGUAGES, 2)))
            most, minute = rng.randint(12, 25), rng.randrange(540, 600, 5)
            starts = minute
            for _ in range(2 if len(groups) < 4 else rng.randint(1, 2)):
                minutes = rng.randrange(45, 95, 5)
                earliest = minute - rng.randint(0, 25)
                size = rng.randint(6, most)
                groups.append(
                    VisitorGroup("", size, rng.choice(spoken), earliest, minute + rng.randint(5, 30), minutes)
                )
                minute += minutes + pause + rng.randint(0, 10)
            guides.append(Guide(name, spoken, most, starts, minute + rng.randint(0, 30), rng.randrange(40, 100, 5)))
        rng.shuffle(groups)
        named = tuple(msgspec.structs.replace(group, name=f"G{i}") for i, group in enumerate(groups, 1))
        return ProblemCase(GroupProblem(named, tuple(guides), pause, rng.choice((1, 2))))

    def measure(self, instance: GroupProblem, plan: Assignments, first: Assignments | None = None) -> float:
        """Return the fees plus the price of waiting."""
        del first
        groups = {group.name: group for group in instance.groups}
        guides = {guide.name: guide for guide in instance.guides}
        once_each("group", (given.group for given in plan.assignments), groups)
        cost = 0
        free: dict[str, int] = {}
        for given in sorted(plan.assignments, key=lambda found: found.start):
            group = groups[given.group]
            need(given.guide in guides, f"there is no guide {given.guide!r:.60}")
            guide = guides[given.guide]
            need(group.language in guide.languages, f"{guide.name} does not speak {group.language} for {group.name}")
            need(group.size <= guide.most_visitors, f"{group.name} is too large for {guide.name}")
            need(group.earliest <= given.start <= group.latest, f"{group.name} starts outside its window")
            need(guide.starts <= given.start, f"{guide.name} is not yet there for {group.name}")
            need(given.start + group.minutes <= guide.ends, f"{group.name} ends after the shift of {guide.name}")
            need(given.start >= free.get(guide.name, guide.starts), f"{guide.name} is still busy for {group.name}")
            free[guide.name] = given.start + group.minutes + instance.pause
            cost += guide.fee + instance.waiting_price * (given.start - group.earliest)
        return float(cost)

    def solve(self, instance: GroupProblem, first: Assignments | None = None) -> Assignments | None:
        """For each guide the cheapest timetable of every set of groups, then the cheapest split of all groups."""
        del first
        whole = (1 << len(instance.groups)) - 1
        best: dict[int, tuple[int, tuple[Assignment, ...]]] = {0: (0, ())}
        for guide in instance.guides:
            tables = _timetables(instance, guide)
            joined: dict[int, tuple[int, tuple[Assignment, ...]]] = {}
            for mask, (cost, given) in best.items():
                for more, (price, added) in tables.items():
                    if mask & more == 0 and cost + price < joined.get(mask | more, (1 << 60, ()))[0]:
                        joined[mask | more] = (cost + price, given + added)
            best = joined
        return Assignments(best[whole][1]) if whole in best else None

    def exact(self, instance: GroupProblem) -> bool:
        """Up to seven groups."""
        return len(instance.groups) <= MOST_GROUPS

    def bound(self, instance: GroupProblem) -> float | None:
        """Every group costs at least the lowest fee."""
        return float(len(instance.groups) * min(guide.fee for guide in instance.guides))

    def free_of_content(self, instance: GroupProblem) -> Sequence[Assignments]:
        """Plans that are empty, repeat one group, give all groups to one guide, or assign guides in turn."""
        groups, guides = instance.groups, instance.guides
        once = Assignment(groups[0].name, guides[0].name, groups[0].earliest)
        one = [tuple(Assignment(group.name, guide.name, group.earliest) for group in groups) for guide in guides]
        turn = tuple(
            Assignment(group.name, guides[i % len(guides)].name, group.earliest) for i, group in enumerate(groups)
        )
        return [Assignments(given) for given in ((), (once,) * len(groups), *one, turn)]


def _timetables(instance: GroupProblem, guide: Guide) -> dict[int, tuple[int, tuple[Assignment, ...]]]:
    """Return for each set of groups (bit mask) that `guide` can lead the lowest cost and its assignments."""
    found: dict[int, tuple[int, tuple[Assignment, ...]]] = {}

    def lead(mask: int, minute: int, cost: int, given: tuple[Assignment, ...]) -> None:
        if cost < found.get(mask, (1 << 60, ()))[0]:
            found[mask] = (cost, given)
        for i, group in enumerate(instance.groups):
            start = max(minute, group.earliest)
            fits = group.language in guide.languages and group.size <= guide.most_visitors
            if mask >> i & 1 or not fits or start > group.latest or start + group.minutes > guide.ends:
                continue
            price = cost + guide.fee + instance.waiting_price * (start - group.earliest)
            more = Assignment(group.name, guide.name, start)
            lead(mask | 1 << i, start + group.minutes + instance.pause, price, (*given, more))

    lead(0, guide.starts, 0, ())
    return found
