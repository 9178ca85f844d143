"""Instances that users bring to realm: published JSON, own form, job shop text."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.realm.benchmark import Realm
from mesocosm.benchmarks.builtin.realm.problems import PROBLEMS, generated
from mesocosm.benchmarks.builtin.realm.published import read_instances
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, InvalidInput, UsageError

EVERY = list(PROBLEMS)
PUBLISHED: dict[str, dict[str, Any]] = {
    "P1": {
        "locations": ["A", "B", "C"],
        "distances": {"A-B": 30, "B-C": 20, "A-C": 40},
        "time_windows": {"B": [9, 11], "C": ["10:00", "12:30"]},
        "start_location": "A",
        "end_location": "A",
        "start_time": 8.5,
        "max_duration": 300,
    },
    "P2": {
        "visitor_groups": [{"group_id": "G1", "size": 5, "duration": 60, "time_window": ["09:00", "10:00"]}],
        "tour_guides": [{"guide_id": "Ana", "languages": ["English"]}],
    },
    "P3": {
        "city_map": {"distances": {"A-B": 10, "B-C": 5, "A-C": 12}},
        "ride_requests": [{"passenger_id": "p1", "pickup": "A", "dropoff": "B", "deadline": 40}],
        "vehicles": [{"vehicle_id": "v1", "capacity": 2, "location": "C"}],
    },
    "P5": {
        "guests": [{"name": "Alma", "arrival_time": "11:00", "location": "Airport"}],
        "errands": [{"name": "cake", "location": "Bakery", "duration": 10}],
        "vehicles": [{"name": "car", "capacity": 4}],
        "constraints": {"wedding_deadline": "15:00", "venue": "Church"},
        "distances": {"Airport-Bakery": 20, "Church-Airport": 30, "Bakery-Church": 10},
    },
    "P6": {
        "family_members": ["Mira", "Hal"],
        "flights": [{"passenger": "Hal", "arrival_time": "15:00", "travel_time": 30}],
        "cooking_tasks": [{"task": "roast", "duration": 60, "oven": True}, {"task": "soup", "duration": 20}],
        "dependencies": [["soup", "roast"]],
        "dinner_time": "18:00",
        "start_time": "14:00",
    },
    "P7": {
        "regions": [{"name": "N", "severity": 3, "needs": {"food": 200, "water": 100}}],
        "resources": {"food": 100, "water": 100},
    },
    "P10": {
        "components": [{"name": "frames", "quantity": 2}],
        "suppliers": [{"name": "Axion", "components": {"frames": {"cost": 10, "lead_time": 3}}}],
        "facilities": [],
        "budget": 30,
        "delivery_deadlines": {"frames": 5},
    },
}


def opened(place: Path, **parameters: Any) -> Realm:
    known = read_catalogue().find("realm")
    (settings,) = settle([known.descriptor], {"data_path": str(place), **parameters}, [known.descriptor])
    benchmark = open_benchmark(reference(known, settings.parameters))
    assert isinstance(benchmark, Realm)
    return benchmark


def written(place: Path, value: Any) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(value if isinstance(value, str) else json.dumps(value))
    return place


@pytest.mark.parametrize("name", PUBLISHED)
async def test_a_published_instance_is_solved_by_the_oracle(tmp_path: Path, name: str) -> None:
    written(tmp_path / name / "instance_1.json", PUBLISHED[name])
    benchmark = opened(tmp_path)
    (task,) = benchmark.loaded.tasks
    assert task.id == f"{name}-{name}/instance_1"
    world = await benchmark.environment(task, "e")
    step = await world.step(json.dumps(await world.oracle()))
    episode = Episode("e", "r", task.digest(), task.id, terminal_info=step.info)
    assert [score.value for score in await benchmark.grade(task, episode)] == [1.0, 1.0, 1.0]


def test_hours_and_clocks_of_a_tour_become_minutes(tmp_path: Path) -> None:
    (found,) = read_instances(written(tmp_path / "P1_001.json", PUBLISHED["P1"]), EVERY, None)
    assert found.instance.leaves == 510
    assert found.instance.back_by == 810
    assert [(place.opens, place.closes) for place in found.instance.places] == [(540, 660), (600, 750)]


@pytest.mark.parametrize("name", EVERY)
def test_our_own_form_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    posed = generated(name, 0, 0).posed
    file = written(tmp_path / "own.json", [{"problem": name, **msgspec.to_builtins(posed)}])
    (found,) = read_instances(file, EVERY, None)
    assert (found.problem, found.instance) == (name, posed)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_missing_key_is_named_with_its_file(tmp_path: Path, name: str) -> None:
    required = {"P1": "locations", "P2": "tour_guides", "P3": "vehicles", "P5": "guests", "P6": "dinner_time",
                "P7": "resources", "P10": "budget"}[name]  # fmt: skip
    value = {key: item for key, item in PUBLISHED[name].items() if key != required}
    file = written(tmp_path / f"{name}.json", value)
    with pytest.raises(InvalidInput, match=f"(?s){name}.json.*{required}.* is missing"):
        read_instances(file, EVERY, None)


@pytest.mark.parametrize(
    ("name", "key", "value", "said"),
    [
        ("P1", "distances", {"A-B": 1, "A-C": 2}, "B-C"),
        ("P1", "time_windows", {"B": [9]}, "pair of times"),
        ("P1", "time_windows", {"B": ["nine", 10]}, "HH:MM"),
        ("P2", "visitor_groups", {"G1": 5}, "no object"),
        ("P3", "vehicles", [{"vehicle_id": "v1", "capacity": -1}], "no number"),
        ("P6", "dependencies", [["soup", "cake"]], "not a cooking task"),
        ("P6", "family_members", ["Hal"], "nobody who is at home"),
        ("P7", "resources", {"food": 100_000, "water": 1}, "loads"),
        ("P10", "suppliers", [{"name": "A", "components": {"x": {"cost": 1, "lead_time": 1}}}], "not a component"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, name: str, key: str, value: Any, said: str) -> None:
    file = written(tmp_path / f"{name}.json", {**PUBLISHED[name], key: value})
    with pytest.raises(InvalidInput, match=said):
        read_instances(file, EVERY, None)


@pytest.mark.parametrize("value", ["[1]", "{", '{"problem": "P99"}', '"x"', '{"locations": []}'])
def test_what_is_no_instance_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidInput, match="odd"):
        read_instances(written(tmp_path / "odd.json", value), EVERY, None)


def test_an_own_instance_with_a_name_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    tour = msgspec.to_builtins(generated("P1", 0, 0).posed)
    file = written(tmp_path / "own.json", {"problem": "P1", **tour, "home": "Nowhere"})
    with pytest.raises(InvalidInput, match="Nowhere"):
        read_instances(file, EVERY, None)


def test_a_job_shop_file_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "P11" / "ft02.txt", "# two by two\n2 2\n0 3 1 2\n1 4 0 1\n")
    (found,) = read_instances(tmp_path, EVERY, None)
    assert read_instances(file, EVERY, None)[0].instance == found.instance
    family = PROBLEMS["P11"].family
    assert family.measure(found.instance, family.solve(found.instance)) == 6


def test_taillard_s_form_of_a_job_shop_gives_the_same_instance(tmp_path: Path) -> None:
    taillard = "Nb of jobs, Nb of Machines\n2 2 840612802 398197754 6 6\nTimes\n3 2\n4 1\nMachines\n1 2\n2 1\n"
    standard = written(tmp_path / "P11" / "ft02", "2 2\n0 3 1 2\n1 4 0 1\n")
    other = written(tmp_path / "P11" / "ta02.txt", taillard)
    assert read_instances(other, EVERY, None)[0].instance == read_instances(standard, EVERY, None)[0].instance
    assert len(read_instances(tmp_path, EVERY, None)) == 2


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("2 2\n0 3 1 2\n1 4 x 1", "line 3"),
        ("2 2\n0 3 1 2", "announced"),
        ("0 2\n", "announced"),
        ("2\n", "line 1"),
        ("", "line 1"),
        ("1 2\n0 3 2 2", "line 2"),
        ("1 2\n0 3", "line 2"),
        ("1 1\nTimes\n3\nMachines\n0", "line 3"),
        ("1 1\nTimes\n3", "of machines"),
    ],
)
def test_a_job_shop_file_that_is_none_is_refused_naming_the_line(tmp_path: Path, said: str, place: str) -> None:
    with pytest.raises(InvalidInput, match=place):
        read_instances(written(tmp_path / "shop.txt", said), EVERY, None)


async def test_a_large_job_shop_is_held_against_a_bound(tmp_path: Path) -> None:
    lines = [" ".join(f"{(i + j) % 5} {1 + (i * j) % 4}" for j in range(5)) for i in range(6)]
    benchmark = opened(written(tmp_path / "shop.txt", "6 5\n" + "\n".join(lines) + "\n"))
    (task,) = benchmark.loaded.tasks
    orders = [{"machine": f"M{m}", "jobs": [f"J{j}" for j in range(6)]} for m in range(5)]
    episode = Episode("e", "r", task.digest(), task.id, terminal_info={"first": json.dumps({"sequences": orders})})
    scores = {score.name: score.value for score in await benchmark.grade(task, episode)}
    assert 0.2 < (scores["score"] or 0.0) < 1.0
    assert scores["feasible"] == 1.0


async def test_without_optimum_and_bound_the_score_is_missing_and_feasibility_is_not(tmp_path: Path) -> None:
    rides = [{"passenger_id": f"p{i}", "pickup": "A", "dropoff": "B"} for i in range(6)]
    benchmark = opened(written(tmp_path / "P3.json", {**PUBLISHED["P3"], "ride_requests": rides}))
    (task,) = benchmark.loaded.tasks
    stops = [{"action": action, "request": f"p{i}"} for i in range(6) for action in ("pickup", "dropoff")]
    plan = json.dumps({"routes": [{"vehicle": "v1", "stops": stops}]})
    episode = Episode("e", "r", task.digest(), task.id, terminal_info={"first": plan})
    scores = {score.name: score for score in await benchmark.grade(task, episode)}
    assert scores["score"].missing is Cause.UNVERIFIED
    assert scores["feasible"].value == 1.0
    plan = json.dumps({"routes": [{"vehicle": "v1", "stops": stops[:-1]}]})
    worse = msgspec.structs.replace(episode, terminal_info={"first": plan})
    assert {score.value for score in await benchmark.grade(task, worse)} == {0.0}


def test_only_the_first_instances_of_the_wanted_problems_are_taken(tmp_path: Path) -> None:
    for i in range(4):
        written(tmp_path / "P3" / f"instance_{i}.json", PUBLISHED["P3"])
        written(tmp_path / "P10" / f"instance_{i}.json", PUBLISHED["P10"])
    assert [task.id for task in opened(tmp_path, problems=["P3"], instances_per_problem=2).loaded.tasks] == [
        "P3-P3/instance_0",
        "P3-P3/instance_1",
    ]
    assert len(opened(tmp_path, instances_per_problem=2, full_dataset=True).loaded.tasks) == 8


def test_a_folder_without_instances_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no instance"):
        _ = opened(tmp_path).loaded
