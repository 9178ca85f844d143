"""Property tests of the eleven problems: their oracles are feasible and optimal, their validators hard."""

import itertools
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.benchmarks.builtin.realm import fleet as fleets
from mesocosm.benchmarks.builtin.realm import groups, job_shop, relief, supply, tour
from mesocosm.benchmarks.builtin.realm.family import Infeasible
from mesocosm.benchmarks.builtin.realm.problems import PROBLEMS, generated
from mesocosm.benchmarks.builtin.realm.referee import Referee

DISRUPTED = [name for name, problem in PROBLEMS.items() if problem.disrupted]
numbers = st.integers(0, 10_000)
few = settings(max_examples=12, deadline=None)


def referee(name: str, number: int = 0, seed: int = 0) -> Referee:
    return Referee(PROBLEMS[name], generated(name, number, seed))


def text(plan: Any) -> str:
    return msgspec.json.encode(plan).decode()


def best(judge: Referee) -> tuple[str, str]:
    """Return what the oracle says before and after the disruption."""
    first = judge.first_best
    return text(first), text(judge.best(first)) if judge.case.changed is not None else ""


def scored(judge: Referee, first: str, revised: str = "") -> float:
    """Return the score, 0 for what is infeasible."""
    try:
        return judge.score(first, revised)
    except Infeasible:
        return 0.0


def lists(plan: dict[str, Any]) -> list[tuple[list[Any], int]]:
    """Return every place of every list inside a plan."""
    found: list[tuple[list[Any], int]] = []
    for value in plan.values() if isinstance(plan, dict) else plan:
        if isinstance(value, list):
            found += [(value, i) for i in range(len(value))]
        if isinstance(value, dict | list):
            found += lists(value)  # type: ignore[arg-type]
    return found


def still(member: Any) -> list[Any]:
    """Return the member when it is the route of a vehicle that does nothing."""
    return [member] if isinstance(member, dict) and member.get("stops") == [] else []


@pytest.mark.parametrize("name", PROBLEMS)
@given(number=numbers)
@few
def test_the_plan_of_the_oracle_is_feasible_and_scores_one(name: str, number: int) -> None:
    judge = referee(name, number)
    assert judge.score(*best(judge)) == 1.0


@pytest.mark.parametrize("name", PROBLEMS)
@given(number=numbers, seed=st.integers(0, 10_000))
@few
def test_a_plan_that_lacks_or_repeats_a_member_never_scores_one(name: str, number: int, seed: int) -> None:
    judge, rng = referee(name, number), Random(seed)
    first, revised = best(judge)
    for change in ("lack", "repeat"):
        plan = msgspec.json.decode(revised or first)
        # A vehicle that stays where it is may as well have no route.
        members, at = rng.choice([(found, i) for found, i in lists(plan) if found[i] not in still(found[i])])
        if change == "lack":
            del members[at]
        else:
            members.append(members[at])
        said = text(plan)
        assert scored(judge, first if revised else said, said if revised else "") < 1.0


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in {"P3", "P4", "P5", "P7", "P8"}])
@given(number=numbers)
@few
def test_a_plan_without_one_of_its_parts_scores_nothing(name: str, number: int) -> None:
    judge = referee(name, number)
    plan = msgspec.json.decode(best(judge)[0])
    for members in plan.values():
        for at in range(len(members)):
            shorter = text({**plan, next(k for k, v in plan.items() if v is members): members[:at] + members[at + 1 :]})
            assert scored(judge, shorter, shorter) == 0.0


@given(number=numbers, seed=numbers)
@few
def test_a_random_order_of_a_tour_never_beats_the_oracle(number: int, seed: int) -> None:
    judge = referee("P1", number)
    route = list(judge.first_best.route)
    middle = route[1:-1]
    Random(seed).shuffle(middle)
    assert 0.0 <= scored(judge, text({"route": [route[0], *middle, route[-1]]})) <= 1.0


@given(number=numbers, seed=numbers)
@few
def test_random_orders_of_machines_never_beat_the_oracle(number: int, seed: int) -> None:
    posed = generated("P11", number, 0).posed
    shop, rng = msgspec.structs.replace(posed, deadline=None), Random(seed)
    family = PROBLEMS["P11"].family
    lowest = family.measure(shop, family.solve(shop))
    for _ in range(30):
        orders = [
            job_shop.MachineOrder(m, tuple(rng.sample([j.name for j in shop.jobs], 4))) for m in ("M1", "M2", "M3")
        ]
        if family.accepts(shop, job_shop.MachinePlan(tuple(orders))):
            assert family.measure(shop, job_shop.MachinePlan(tuple(orders))) >= lowest


@given(number=numbers)
@few
def test_no_order_of_a_tour_is_shorter_than_the_oracle_s(number: int) -> None:
    judge = referee("P1", number)
    posed, family = judge.case.posed, PROBLEMS["P1"].family
    names = [place.name for place in posed.places]
    plans = (tour.TourPlan((posed.home, *order, posed.goal)) for order in itertools.permutations(names))
    assert min(family.measure(posed, plan) for plan in plans if family.accepts(posed, plan)) == judge.best_value


@given(number=numbers)
@few
def test_no_orders_of_two_machines_end_before_the_oracle_s(number: int) -> None:
    rng, family = Random(number), job_shop.JobShopFamily()
    jobs = [
        job_shop.ShopJob(f"J{i}", tuple(job_shop.Operation(m, rng.randint(1, 9)) for m in rng.sample("AB", 2)))
        for i in range(4)
    ]
    shop = job_shop.JobShop(tuple(jobs), None)
    orders = [
        [job_shop.MachineOrder(m, order) for order in itertools.permutations([j.name for j in jobs])] for m in "AB"
    ]
    plans = [job_shop.MachinePlan(pair) for pair in itertools.product(*orders)]
    lowest = min(family.measure(shop, plan) for plan in plans if family.accepts(shop, plan))
    solved = family.solve(shop)
    assert solved is not None
    assert family.measure(shop, solved) == lowest
    assert (family.bound(shop) or 0) <= lowest


@given(number=numbers)
@settings(max_examples=6, deadline=None)
def test_no_routes_of_one_vehicle_are_shorter_than_the_oracle_s(number: int) -> None:
    posed = generated("P3", number, 0).posed
    wide = tuple(msgspec.structs.replace(r, latest=r.latest + 99, due=r.due + 150) for r in posed.requests[:3])
    one = msgspec.structs.replace(posed.vehicles[0], seats=6, fuel=500)
    small = msgspec.structs.replace(posed, requests=wide, vehicles=(one,))
    stops = [fleets.Stop(action, r.name) for r in wide for action in ("pickup", "dropoff")]
    plans = [fleets.FleetPlan((fleets.VehicleRoute(one.name, order),)) for order in itertools.permutations(stops)]

    def lowest(fleet: fleets.FleetProblem, first: fleets.FleetPlan | None) -> float | None:
        family = PROBLEMS["P3"].family
        kept = [plan for plan in plans if family.accepts(fleet, plan, first)]
        return min((family.measure(fleet, plan, first) for plan in kept), default=None)

    solved = fleets.solve(small, None)
    assert (fleets.measure(small, solved, None) if solved else None) == lowest(small, None)
    if solved is not None:
        legs = list(fleets.follow(small, one, solved.routes[0].stops))
        slow = fleets.Slowdown(legs[2].departed, (legs[3].place, legs[4].place), 9)
        changed = msgspec.structs.replace(small, slowdown=slow, since=slow.since)
        revised = fleets.solve(changed, solved)
        assert (fleets.measure(changed, revised, solved) if revised else None) == lowest(changed, solved)


@given(number=numbers)
@settings(max_examples=5, deadline=None)
def test_no_timetable_of_guides_is_cheaper_than_the_oracle_s(number: int) -> None:
    judge = referee("P2", number)
    posed, family = judge.case.posed, PROBLEMS["P2"].family
    few_groups = msgspec.structs.replace(posed, groups=posed.groups[:3])
    lowest = 1e9
    choices = [
        [groups.Assignment(g.name, h.name, s) for h in posed.guides for s in range(g.earliest, g.latest + 1, 3)]
        for g in few_groups.groups
    ]
    for chosen in itertools.islice(itertools.product(*choices), 20_000):
        if family.accepts(few_groups, groups.Assignments(chosen)):
            lowest = min(lowest, family.measure(few_groups, groups.Assignments(chosen)))
    solved = family.solve(few_groups)
    assert solved is None or family.measure(few_groups, solved) <= lowest


@pytest.mark.parametrize("name", PROBLEMS)
@given(number=numbers)
@settings(max_examples=6, deadline=None)
def test_no_bound_is_worse_than_the_optimum(name: str, number: int) -> None:
    judge = referee(name, number)
    family, posed = judge.problem.family, judge.case.posed
    bound = family.bound(posed)
    if bound is not None:
        reached = family.measure(posed, judge.first_best)
        assert bound >= reached if family.more_is_better else bound <= reached


@pytest.mark.parametrize("name", DISRUPTED)
def test_what_had_begun_before_the_disruption_must_be_kept(name: str) -> None:
    refused = 0
    for number in range(30):
        judge = referee(name, number)
        family, changed = judge.problem.family, judge.case.changed
        elsewhere = family.solve(changed)
        if elsewhere is not None and not family.accepts(changed, elsewhere, judge.first_best):
            assert scored(judge, text(judge.first_best), text(elsewhere)) == 0.0
            refused += 1
    assert refused


@pytest.mark.parametrize("name", ["P7", "P10"])
def test_the_first_plan_is_not_feasible_after_its_road_or_supplier_closed(name: str) -> None:
    for number in range(10):
        judge = referee(name, number)
        first = text(judge.first_best)
        assert scored(judge, first, first) == 0.0


@pytest.mark.parametrize("name", DISRUPTED)
def test_an_infeasible_first_plan_is_not_mended_by_the_second(name: str) -> None:
    judge = referee(name, 3)
    first, revised = best(judge)
    plans = judge.problem.family.free_of_content(judge.case.posed)
    assert judge.score(first, revised) == 1.0
    assert all(scored(judge, text(plan), revised) == 0.0 for plan in plans)


@pytest.mark.parametrize("name", DISRUPTED)
def test_without_a_second_plan_there_is_no_score(name: str) -> None:
    judge = referee(name, 3)
    assert scored(judge, best(judge)[0], "") == 0.0


def test_equal_seeds_give_equal_instances_and_another_seed_others() -> None:
    for name in PROBLEMS:
        generated.cache_clear()
        one = generated(name, 1, 5)
        generated.cache_clear()
        assert generated(name, 1, 5) == one
        assert generated(name, 1, 6) != one
        assert generated(name, 2, 5) != one


def test_supply_orders_beyond_the_budget_the_capacity_or_the_day_are_refused() -> None:
    family = supply.SupplyFamily()
    shop = supply.Supply(
        (supply.Component("frames", 2, 10),),
        (supply.Supplier("Axion", 3, 5, 1), supply.Supplier("Cobalt", 1, 0, 0)),
        (supply.SupplierOffer("Axion", "frames", 50, 8), supply.SupplierOffer("Cobalt", "frames", 200, 4)),
        budget=300,
    )

    def cost(*orders: tuple[str, int, int]) -> float | None:
        plan = supply.SupplyPlan(tuple(supply.SupplyOrder(name, "frames", lots, day) for name, lots, day in orders))
        return family.measure(shop, plan) if family.accepts(shop, plan) else None

    assert cost(("Axion", 2, 1)) == 105
    assert cost(("Axion", 1, 2), ("Cobalt", 1, 0)) == 255
    for wrong in [("Axion", 2, 0)], [("Axion", 2, 3)], [("Cobalt", 2, 0)], [("Axion", 3, 1)], [("Axion", 1, 1)]:
        assert cost(*wrong) is None
    assert cost(("Axion", 4, 1), ("Axion", -2, 1)) is None
    shop = msgspec.structs.replace(shop, budget=104)
    assert cost(("Axion", 2, 1)) is None


def test_relief_loads_beyond_stock_need_deadline_or_trucks_are_refused() -> None:
    family = relief.ReliefFamily()
    region = relief.Region("Northfold", 5, 60, urgent=True, needs={"water": 1, "food": 2})
    posed = relief.Relief(
        (region,),
        (relief.Truck("T1", "Depot A", 0), relief.Truck("T2", "Depot A", 40)),
        {"Depot A": {"water": 2, "food": 1}},
        {"Depot A": {"Northfold": 30}},
    )

    def value(*loads: tuple[str, str, int]) -> float | None:
        plan = relief.Shipments(tuple(relief.Shipment(truck, "Northfold", what, at) for truck, what, at in loads))
        return family.measure(posed, plan) if family.accepts(posed, plan) else None

    assert value(("T1", "water", 30)) == 5
    assert value(("T1", "water", 31)) is None
    assert value(("T2", "water", 40)) is None
    assert value(("T1", "water", 0), ("T1", "food", 0)) is None
    assert value(("T1", "medicine", 0)) is None
    assert value(("T3", "water", 0)) is None
    assert value() is None
