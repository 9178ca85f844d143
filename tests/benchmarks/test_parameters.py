"""Settings: defaults, what holds for all, what is meant for one; nothing is silently passed over."""

from typing import Any

import pytest

from mesocosm.benchmarks.descriptor import Descriptor
from mesocosm.benchmarks.parameters import BenchmarkParameters, settle
from mesocosm.core.failure import InvalidInput


def descriptor(identifier: str, parameters: dict[str, Any], **more: Any) -> Descriptor:
    facts = {"title": "T", "description": "D", "source": "S", "licence": "L", "version": "1"}
    shaped = {name: {"help": "of a test", **parameter} for name, parameter in parameters.items()}
    return Descriptor.model_validate({"id": identifier, **facts, "parameters": shaped, **more})


FIRST = descriptor(
    "first-one",
    {
        "max_tasks": {"type": "integer", "minimum": 1},
        "seed": {"type": "integer", "default": 7},
        "quick": {"type": "boolean", "default": False, "aliases": ["fast"]},
    },
    aliases=["uno"],
    sampling="max_tasks",
)
SECOND = descriptor("second", {"seed": {"type": "integer"}, "max_steps": {"type": "integer", "default": 3}})
BOTH = [FIRST, SECOND]


def only(extra: dict[str, Any], one: Descriptor = FIRST) -> BenchmarkParameters:
    (settled,) = settle([one], extra, BOTH)
    return settled


def refused(extra: dict[str, Any], *chosen: Descriptor) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        settle(chosen or BOTH, extra, BOTH)
    return [str(problem) for problem in caught.value.problems]


def test_without_anything_given_the_defaults_hold() -> None:
    assert only({}).parameters == {"max_tasks": None, "seed": 7, "quick": False}
    assert only({}).effective == {"seed": 7, "quick": False}


def test_what_is_meant_for_one_goes_over_what_holds_for_all_and_that_over_the_defaults() -> None:
    extra = {"per_benchmark": {"second": {"seed": 2}}, "seed": 1}
    first, second = settle(BOTH, extra, BOTH)
    assert (first.parameters["seed"], second.parameters["seed"]) == (1, 2)


def test_a_parameter_that_only_some_of_the_chosen_have_is_for_these() -> None:
    first, second = settle(BOTH, {"max_steps": 9}, BOTH)
    assert "max_steps" not in first.parameters
    assert second.parameters["max_steps"] == 9


@pytest.mark.parametrize("name", ["fast", "quick", "QUICK", "Fast"])
def test_aliases_and_other_spellings_name_the_same_parameter(name: str) -> None:
    assert only({name: True}).parameters["quick"] is True


@pytest.mark.parametrize("name", ["max_examples", "limit", "sample", "max-tasks", "max_questions"])
def test_every_name_of_a_size_is_the_sampling_parameter(name: str) -> None:
    assert only({name: 5}).parameters["max_tasks"] == 5


def test_a_size_is_no_parameter_of_a_benchmark_that_cannot_be_sampled() -> None:
    assert "max_examples" in refused({"max_examples": 5}, SECOND)[0]
    assert settle(BOTH, {"max_examples": 5}, BOTH)[0].parameters["max_tasks"] == 5


@pytest.mark.parametrize("name", ["first-one", "first_one", "UNO"])
def test_a_part_names_its_benchmark_by_id_or_alias(name: str) -> None:
    assert only({"per_benchmark": {name: {"seed": 4}}}).parameters["seed"] == 4


def test_a_part_for_a_benchmark_that_is_not_chosen_is_passed_over() -> None:
    assert only({"per_benchmark": {"second": {"whatever": 4}}}).parameters["seed"] == 7


def test_settings_of_model_and_run_are_kept_apart() -> None:
    settled = only({"temperature": 0.5, "trials": 3, "reasoning_effort": "low"})
    assert settled.general == {"temperature": 0.5, "trials": 3, "reasoning_effort": "low"}
    assert settled.effective["temperature"] == 0.5


@pytest.mark.parametrize("name", ["base_url", "vllm_base_url", "openai-base-url"])
def test_addresses_are_settings_under_the_names_of_providers(name: str) -> None:
    assert only({name: "http://127.0.0.1:1/v1"}).general == {name.replace("-", "_"): "http://127.0.0.1:1/v1"}
    assert "must be a text" in refused({name: 7})[0]


def test_nothing_given_for_a_parameter_means_its_default() -> None:
    assert only({"seed": 1, "per_benchmark": {"uno": {"seed": None}}}).parameters["seed"] == 7


def test_an_unknown_parameter_is_named_with_a_near_one() -> None:
    (problem,) = refused({"sed": 3})
    assert problem.startswith("sed: is not a parameter of the chosen benchmarks; did you mean 'seed'?")
    (problem,) = refused({"per_benchmark": {"second": {"warp": 1}}})
    assert problem.startswith("per_benchmark.second.warp: is not a parameter of second")
    assert "max_steps" in problem


def test_every_problem_is_told_at_once_and_once() -> None:
    extra = {
        "seed": "one",
        "warp": 1,
        "per_benchmark": {"third": {}, "second": 5, "first-one": {"max_tasks": 0}},
    }
    assert [problem.partition(":")[0] for problem in refused(extra)] == [
        "per_benchmark.third",
        "per_benchmark.second",
        "warp",
        "seed",
        "per_benchmark.first-one.max_tasks",
    ]


def test_parts_must_be_an_object() -> None:
    assert refused({"per_benchmark": [1]}) == [
        "per_benchmark: must be an object of benchmark ids, each with its parameters"
    ]
