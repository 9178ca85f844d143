"""The benchmark realm: what earns nothing, two turns, corrections, parameters, scores."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.realm import supply
from mesocosm.benchmarks.builtin.realm.benchmark import Realm
from mesocosm.benchmarks.builtin.realm.family import Infeasible
from mesocosm.benchmarks.builtin.realm.planning import Planning, posed
from mesocosm.benchmarks.builtin.realm.problems import PROBLEMS, generated
from mesocosm.benchmarks.builtin.realm.referee import Referee
from mesocosm.benchmarks.builtin.realm.tour import Tour, TourPlan, TourStop
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

EVERY = list(PROBLEMS)
PER_PROBLEM = 5


def opened(**parameters: Any) -> Realm:
    known = read_catalogue().find("REALM")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    benchmark = open_benchmark(reference(known, settings.parameters))
    assert isinstance(benchmark, Realm)
    return benchmark


async def played(tmp_path: Path, model: str, **parameters: Any) -> Run:
    known = read_catalogue().find("realm")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    store = open_store(tmp_path / "results.sqlite")
    spec = RunSpec(
        reference(known, settings.parameters), ModelSettings(model), AgentSettings("chat"), Selection(None, None)
    )
    try:
        return await session.run(spec, store)
    finally:
        store.close()


def referee(name: str, number: int = 0) -> Referee:
    return Referee(PROBLEMS[name], generated(name, number, 0))


def text(plan: Any) -> str:
    return msgspec.json.encode(plan).decode()


def earned(judge: Referee, said: Any) -> float:
    """Return what a reply earns, said before and after a disruption; when the first is refused, after the best one."""
    reply = said if isinstance(said, str) else text(said)
    scores = []
    for first in (reply, text(judge.first_best)):
        if first != reply and judge.case.changed is None:
            continue
        try:
            scores.append(judge.score(first, reply))
        except Infeasible:
            scores.append(0.0)
    return max(scores)


def instances(name: str) -> list[Referee]:
    return [referee(name, number) for number in range(PER_PROBLEM)]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "said",
    ["", " ", "{}", "[]", "null", "0", "true", '"plan"', "```json\n{}\n```", '{"solution": {}}', "I cannot help.",
     "{" * 5000, "[" * 100_000, "x" * 300_000, '{"route": 1}', '{"routes": {}}', "\ud800"],
)  # fmt: skip
def test_what_is_no_plan_earns_nothing(name: str, said: str) -> None:
    assert earned(referee(name), said) == 0.0


@pytest.mark.parametrize("name", EVERY)
def test_a_plan_with_empty_lists_earns_nothing(name: str) -> None:
    empty: dict[str, list[Any]] = {field.name: [] for field in msgspec.structs.fields(PROBLEMS[name].family.plan)}
    assert [earned(judge, empty) for judge in instances(name)] == [0.0] * PER_PROBLEM


@pytest.mark.parametrize("name", EVERY)
def test_repeating_the_prompt_or_the_example_earns_nothing(name: str) -> None:
    judge = referee(name)
    for said in (posed(judge), judge.problem.family.example, text(judge.case.posed)):
        assert earned(judge, said) == 0.0


@pytest.mark.parametrize("name", EVERY)
def test_plans_without_content_earn_nothing(name: str) -> None:
    for judge in instances(name):
        assert [earned(judge, plan) for plan in judge.problem.family.free_of_content(judge.case.posed)][1:]
        assert not any(earned(judge, plan) for plan in judge.problem.family.free_of_content(judge.case.posed))


@pytest.mark.parametrize("name", EVERY)
def test_the_best_plan_buried_in_noise_or_given_twice_earns_nothing(name: str) -> None:
    judge = referee(name)
    best = text(judge.first_best)
    for said in (f"Here it is: {best}", f"{best}\n{best}", f"```json\n{best}\n```\n```json\n{best}\n```"):
        assert earned(judge, said) == 0.0
    assert earned(judge, best + " " * 60_000) == 0.0


def test_a_tour_that_misses_its_windows_earns_nothing() -> None:
    for judge in instances("P1"):
        tour = judge.case.posed
        listed = [place.name for place in tour.places]
        for order in (listed, listed[::-1]):
            assert earned(judge, {"route": [tour.home, *order, tour.home]}) == 0.0


def test_one_minute_after_the_closing_is_too_late() -> None:
    travel = {"Home": {"Market": 10}, "Market": {"Home": 10}}
    family = PROBLEMS["P1"].family
    plan = TourPlan(("Home", "Market", "Home"))
    for closes, back_by, kept in ((40, 75, True), (39, 75, True), (29, 75, False), (40, 54, False)):
        tour = Tour("Home", 20, back_by, (TourStop("Market", 20, closes, 15),), travel)
        assert family.accepts(tour, plan) == kept
    waiting = Tour("Home", 20, 75, (TourStop("Market", 50, 60, 15),), travel)
    assert family.measure(waiting, plan) == 20
    assert not family.accepts(msgspec.structs.replace(waiting, back_by=74), plan)


def test_one_group_again_and_again_earns_nothing() -> None:
    for judge in instances("P2"):
        first = judge.first_best.assignments[0]
        assert earned(judge, {"assignments": [first] * len(judge.case.posed.groups)}) == 0.0


@pytest.mark.parametrize("name", ["P3", "P4", "P5", "P8"])
def test_dropoffs_without_pickups_earn_nothing(name: str) -> None:
    for judge in instances(name):
        fleet = judge.case.posed
        stops = [{"action": "dropoff", "request": request.name} for request in fleet.requests]
        assert earned(judge, {"routes": [{"vehicle": fleet.vehicles[0].name, "stops": stops}]}) == 0.0


@pytest.mark.parametrize("name", ["P5", "P8"])
def test_errands_alone_earn_nothing(name: str) -> None:
    for judge in instances(name):
        errands = {request.name for request in judge.case.posed.requests if not request.seats}
        routes = [
            {"vehicle": route.vehicle, "stops": [stop for stop in route.stops if stop.request in errands]}
            for route in judge.first_best.routes
        ]
        assert errands
        assert earned(judge, {"routes": routes}) == 0.0


@pytest.mark.parametrize("name", ["P6", "P9"])
def test_a_dinner_without_guests_or_without_dishes_earns_nothing(name: str) -> None:
    for judge in instances(name):
        evening = judge.first_best
        assert earned(judge, {"cooking": evening.cooking, "pickups": []}) == 0.0
        assert earned(judge, {"cooking": [], "pickups": evening.pickups}) == 0.0


def test_an_allocation_of_a_thousand_million_earns_nothing() -> None:
    for judge in instances("P7"):
        names = [region.name for region in judge.case.posed.regions]
        assert earned(judge, {"allocations": {name: {"water": 10**9} for name in names}}) == 0.0
        many = [
            {"truck": f"T{i}", "region": name, "resource": "water", "departs": 0} for i in range(200) for name in names
        ]
        assert earned(judge, {"shipments": many}) == 0.0


def test_made_up_costs_and_arrivals_earn_nothing() -> None:
    for judge in instances("P10"):
        orders = [
            {"supplier": offer.supplier, "component": offer.component, "lots": 1, "day": 0, "cost": 0.01, "eta": 0}
            for offer in judge.case.posed.offers
        ]
        assert earned(judge, {"orders": orders}) == 0.0
        best = [{**msgspec.to_builtins(order), "cost": 0.01} for order in judge.first_best.orders]
        assert earned(judge, {"orders": best}) == 0.0


def test_first_in_first_out_earns_nothing_in_the_job_shop() -> None:
    for judge in instances("P11"):
        jobs = [job.name for job in judge.case.posed.jobs]
        for order in (jobs, jobs[::-1]):
            assert earned(judge, {"sequences": [{"machine": m, "jobs": order} for m in ("M1", "M2", "M3")]}) == 0.0


@pytest.mark.parametrize("name", EVERY)
def test_wrong_types_earn_nothing(name: str) -> None:
    judge = referee(name)
    best = msgspec.json.decode(text(judge.first_best))
    key = next(iter(best))
    for wrong in ([best], {**best, key: {}}, {**best, key: None}, {**best, key: "all"}, {**best, "note": "fine"}):
        assert earned(judge, wrong) == 0.0


async def test_the_oracle_reaches_the_ceiling_in_every_problem(tmp_path: Path) -> None:
    run = await played(tmp_path, "builtin/oracle", instances_per_problem=2)
    metrics = {metric.name: metric for metric in run.metrics}
    assert metrics["score"].value == metrics["feasible"].value == 1.0
    assert metrics["score"].n_scored == 22
    assert all(metrics[f"score_{name}"].value == 1.0 and metrics[f"score_{name}"].n_planned == 2 for name in EVERY)


@pytest.mark.parametrize("model", ["builtin/empty", "builtin/random"])
async def test_saying_nothing_and_saying_anything_earn_nothing(tmp_path: Path, model: str) -> None:
    run = await played(tmp_path, model, instances_per_problem=2, max_steps=3)
    assert run.metrics[0].n_scored == 22
    assert run.metrics[0].value == 0.0


@pytest.mark.parametrize("name", EVERY)
async def test_a_disruption_is_told_only_after_the_first_plan(name: str) -> None:
    judge = referee(name)
    world = Planning(judge, 2)
    said = text((await world.reset()).data)
    assert all(word not in said for word in ('\\"since\\"', '\\"slowdown\\"', '\\"closed\\"'))
    step = await world.step(text(await world.oracle()))
    assert step.terminated == (judge.case.changed is None)
    if judge.case.changed is not None:
        assert "revised plan" in text(step.observation.data)
        assert (await world.step(text(await world.oracle()))).terminated


async def test_an_infeasible_first_plan_ends_the_episode() -> None:
    step = await Planning(referee("P4"), 2).step("{}")
    assert step.terminated
    assert step.info == {"first": "{}"}


async def test_spare_replies_are_for_corrections_that_name_what_is_wrong() -> None:
    judge = referee("P1")
    world = Planning(judge, 3)
    await world.reset()
    step = await world.step('{"route": ["Home", "Home"]}')
    assert not step.terminated
    assert "is missing" in text(step.observation.data)
    assert (await world.step(text(judge.first_best))).terminated


async def graded(benchmark: Realm, number: int, **said: str) -> dict[str, float | None]:
    task = benchmark.loaded.tasks[number]
    episode = Episode("e", "r", task.digest(), task.id, terminal_info=dict(said))
    return {score.name: score.value for score in await benchmark.grade(task, episode)}


async def test_a_feasible_plan_earns_its_share_of_the_optimum() -> None:
    benchmark = opened(problems=["P2"])
    judge = referee("P2")
    plan = msgspec.to_builtins(judge.first_best)
    groups = {group.name: group for group in judge.case.posed.groups}
    for given in sorted(plan["assignments"], key=lambda found: -found["start"]):
        if given["start"] < groups[given["group"]].latest:
            given["start"] += 1
            break
    family = judge.problem.family
    value = family.measure(judge.case.posed, msgspec.convert(plan, family.plan))
    scores = await graded(benchmark, 0, first=text(plan))
    assert scores["score"] == pytest.approx((judge.best_value or 0.0) / value)
    assert 0.5 < (scores["score"] or 0.0) < 1.0
    assert scores["feasible"] == 1.0


def test_orders_of_the_past_cannot_be_doubled_after_the_disruption() -> None:
    component, supplier = supply.Component("frames", 4, 20), supply.Supplier("Axion", 9, 10, 0)
    other = supply.Supplier("Cobalt", 9, 10, 0)
    offers = (supply.SupplierOffer("Axion", "frames", 50, 5), supply.SupplierOffer("Cobalt", "frames", 90, 5))
    changed = supply.Supply((component,), (supplier, other), offers, 10_000, "Axion", 3)
    early = supply.SupplyOrder("Axion", "frames", 2, 0)
    first = supply.SupplyPlan((early, supply.SupplyOrder("Axion", "frames", 2, 5)))
    family = PROBLEMS["P10"].family
    assert family.accepts(changed, supply.SupplyPlan((early, supply.SupplyOrder("Cobalt", "frames", 2, 5))), first)
    assert not family.accepts(changed, supply.SupplyPlan((early, early)), first)


@pytest.mark.parametrize("name", ["P1", "P3", "P4", "P5", "P8", "P11"])
def test_sorting_by_one_number_earns_nothing(name: str) -> None:
    for judge in instances(name):
        posed = judge.case.posed
        if name == "P1":
            places = sorted(posed.places, key=lambda place: place.opens + place.closes)
            said: Any = {"route": ["Home", *(place.name for place in places), "Home"]}
        elif name == "P11":
            steps = sorted((n, job.name, step.machine) for job in posed.jobs for n, step in enumerate(job.operations))
            machines = {machine for _, _, machine in steps}
            said = {
                "sequences": [{"machine": one, "jobs": [job for _, job, at in steps if at == one]} for one in machines]
            }
        else:
            names = [request.name for request in sorted(posed.requests, key=lambda request: request.earliest)]
            said = {
                "routes": [
                    {
                        "vehicle": vehicle.name,
                        "stops": [{"action": do, "request": it} for it in names[n::2] for do in ("pickup", "dropoff")],
                    }
                    for n, vehicle in enumerate(posed.vehicles)
                ]
            }
        assert earned(judge, said) == 0.0


async def test_an_episode_without_a_plan_scores_nothing() -> None:
    assert await graded(opened(problems=["P6"]), 0) == {"score": 0.0, "score_P6": 0.0, "feasible": 0.0}


def test_a_fenced_plan_is_read_as_well() -> None:
    judge = referee("P11")
    assert earned(judge, f"My plan:\n```json\n{text(judge.first_best)}\n```\n") == 1.0


def test_parameters_choose_the_instances() -> None:
    assert len(opened().loaded.tasks) == 110
    benchmark = opened(categories="P11,P1", max_instances_per_problem=3, timeout=60_000)
    assert [task.id for task in benchmark.loaded.tasks] == ["P11-0", "P11-1", "P11-2", "P1-0", "P1-1", "P1-2"]
    assert benchmark.info.max_seconds == 60


def test_the_settings_of_the_older_tool_are_accepted() -> None:
    benchmark = opened(categories=["P11"], max_tasks=1, max_steps=3, timeout=60_000)
    assert {task.metadata["problem"] for task in benchmark.loaded.tasks} == {"P11"}
    assert benchmark.info.max_steps == 3


def test_a_draw_takes_every_problem() -> None:
    drawn = list(opened().tasks(Selection(None, 11)))
    assert sorted(task.metadata["problem"] for task in drawn) == sorted(EVERY)


def test_unknown_problems_are_refused() -> None:
    with pytest.raises(InvalidInput, match="P12"):
        opened(problems=["P12"])


def test_too_few_replies_for_a_disruption_are_refused() -> None:
    with pytest.raises(UsageError, match="planned twice"):
        opened(problems=["P4"], max_steps=1)


def test_tasks_hold_nothing_of_the_solution() -> None:
    for task in opened(instances_per_problem=1).loaded.tasks:
        assert task.target is None
        assert set(task.input) == {"problem", "number"}


def test_the_generators_are_what_version_1_has_been() -> None:
    cases = [text(part) for name in EVERY for part in (generated(name, 7, 3).posed, generated(name, 7, 3).changed)]
    assert digest(cases) == "17686b415de5c7db46129b16829b3d50", (
        "other generators are another benchmark: raise the version in benchmark.toml"
    )


@pytest.mark.parametrize("name", EVERY)
def test_the_schema_of_a_plan_is_closed(name: str) -> None:
    schema = PROBLEMS[name].family.schema
    for part in (schema, *schema.get("$defs", {}).values()):
        assert part["additionalProperties"] is False
        assert sorted(part["required"]) == sorted(part["properties"])
