"""The binding vow: every rule, every path, every JSON."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.failure import Problem
from mesocosm.core.space import CompositeSpace
from mesocosm.core.vow import BindingVow, EpisodeSemantics, RewardSpec, TechniqueDeclaration, VowViolation, read_vow

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)


def vow(**changes: Any) -> dict[str, Any]:
    """Return a whole sound vow; a change of None takes the key away."""
    whole: dict[str, Any] = {
        "version": "1.4.0",
        "tier": "tier2",
        "description": "You keep a lighthouse. Ships see only what you show them.",
        "observation_space": {"type": "json", "description": "{ ships: [...], fog, oil_left }"},
        "action_space": {
            "fields": {
                "lamp": {"type": "discrete", "enum_values": ["steady", "flash", "off"]},
                "bearing": {"type": "continuous", "bounds": {"low": 0, "high": 359.9}},
                "log": {
                    "fields": {
                        "severity": {"type": "discrete", "enum_values": ["1", "2"]},
                        "entry": {"type": "text", "description": "one line"},
                    }
                },
            }
        },
        "reward": {"type": "sparse", "range": {"low": -5, "high": 5}, "description": "ships home, ships lost"},
        "episode": {
            "max_steps": 48,
            "max_wall_seconds": 600,
            "deterministic_reset": True,
            "supports_seed": True,
            "parallel_episodes": 2,
            "observability": "partial",
        },
        "techniques": [
            {"technique_id": "memory", "version": "^1.0", "config_schema": {"window_size": 12}},
            {"technique_id": "tool_calling", "version": "", "required": True},
        ],
        "metadata": {"coast": "north"},
    }
    whole.update(changes)
    return {key: value for key, value in whole.items() if value is not None}


def sound(raw: object) -> BindingVow:
    found, problems = read_vow(raw)
    assert problems == []
    assert found is not None
    return found


def errors(raw: object) -> dict[str, Problem]:
    found, problems = read_vow(raw)
    broken = {problem.path: problem for problem in problems if problem.severity == "error"}
    assert (found is None) == bool(broken)
    return broken


def warnings(raw: object) -> dict[str, Problem]:
    return {problem.path: problem for problem in read_vow(raw)[1] if problem.severity == "warning"}


def test_a_whole_vow_is_read_without_a_word() -> None:
    found = sound(vow())
    assert isinstance(found.action_space, CompositeSpace)
    assert list(found.action_space.fields) == ["lamp", "bearing", "log"]
    assert found.reward.low == -5
    assert found.reward.high == 5
    assert found.episode.observability == "partial"
    assert found.techniques[0].config_schema == {"window_size": 12}


def test_a_vow_survives_the_way_through_json() -> None:
    found = sound(vow())
    assert sound(found.model_dump(mode="json", exclude_none=True)) == found


def test_what_is_left_out_has_its_default() -> None:
    found = sound(vow(description=None, techniques=None, metadata=None, episode={}, reward={"type": "binary"}))
    assert found.episode == EpisodeSemantics()
    assert found.episode.max_steps is None
    assert found.episode.supports_seed
    assert found.episode.parallel_episodes == 1
    assert found.reward.low is None
    assert (found.description, found.techniques, found.metadata, found.id) == ("", [], {}, "")
    assert TechniqueDeclaration(technique_id="memory").version == "^1.0"


@pytest.mark.parametrize("key", ["version", "tier", "observation_space", "action_space", "reward", "episode"])
def test_each_required_key_is_missed_by_name(key: str) -> None:
    assert list(errors(vow(**{key: None}))) == [f"binding_vow.{key}"]


@pytest.mark.parametrize("version", ["0.0.1", "01.2.3", "10.20.30"])
def test_versions_of_three_numbers_pass(version: str) -> None:
    assert sound(vow(version=version)).version == version


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0-beta", "1.0.0\n", "1.0.0.0", "", "banana", 1.0, "١.٠.٠"])
def test_other_versions_fail(version: object) -> None:
    assert list(errors(vow(version=version))) == ["binding_vow.version"]


def test_a_tier_out_of_the_two_suggests_the_near_one() -> None:
    assert errors(vow(tier="Tier 1"))["binding_vow.tier"].fix == "did you mean 'tier1'?"


@pytest.mark.parametrize("kind", ["scalar", "vector", "sparse", "binary"])
def test_reward_kinds(kind: str) -> None:
    assert sound(vow(reward={"type": kind})).reward.type == kind


@pytest.mark.parametrize(
    ("reward", "path"),
    [
        ({"type": "dense"}, "reward.type"),
        ({}, "reward.type"),
        ({"type": "scalar", "range": {"low": 1, "high": 1}}, "reward.range"),
        ({"type": "scalar", "range": [0, 1]}, "reward.range"),
        ({"type": "scalar", "range": {"low": "x"}}, "reward.range.low"),
        ("scalar", "reward"),
    ],
)
def test_reward_rules(reward: object, path: str) -> None:
    assert list(errors(vow(reward=reward))) == [f"binding_vow.{path}"]


def test_other_keys_of_a_reward_range_are_warnings() -> None:
    assert list(warnings(vow(reward={"type": "scalar", "range": {"min": 0}}))) == ["binding_vow.reward.range.min"]


@pytest.mark.parametrize(
    ("episode", "key"),
    [
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": -3}, "max_steps"),
        ({"max_steps": 2**53}, "max_steps"),
        ({"max_steps": "many"}, "max_steps"),
        ({"max_steps": 2.5}, "max_steps"),
        ({"max_wall_seconds": 0}, "max_wall_seconds"),
        ({"parallel_episodes": 0}, "parallel_episodes"),
        ({"parallel_episodes": None}, "parallel_episodes"),
        ({"deterministic_reset": "perhaps"}, "deterministic_reset"),
        ({"supports_seed": []}, "supports_seed"),
        ({"observability": "none"}, "observability"),
    ],
)
def test_episode_rules(episode: dict[str, Any], key: str) -> None:
    assert list(errors(vow(episode=episode))) == [f"binding_vow.episode.{key}"]


@pytest.mark.parametrize("key", ["episode", "reward", "observation_space"])
def test_parts_must_be_objects(key: str) -> None:
    assert list(errors(vow(**{key: "x"}))) == [f"binding_vow.{key}"]


def test_absurd_numbers_are_named_by_size() -> None:
    found = errors(vow(tier=10**5000, version=10**30, episode={"max_steps": -(10**5000)}))
    assert "5000" not in found["binding_vow.tier"].message
    assert "bits" in found["binding_vow.tier"].message
    assert "the number 1000000000" in found["binding_vow.version"].message
    assert "binding_vow.episode.max_steps" in found


def test_numbers_as_text_are_coerced_in_an_episode() -> None:
    found = sound(vow(episode={"max_steps": "10", "max_wall_seconds": "60", "parallel_episodes": "3"})).episode
    assert (found.max_steps, found.max_wall_seconds, found.parallel_episodes) == (10, 60, 3)


@pytest.mark.parametrize("version", ["^1.0", "~1.2", "1.2.3", "^1.2.3", ""])
def test_technique_versions_that_pass(version: str) -> None:
    assert sound(vow(techniques=[{"technique_id": "memory", "version": version}])).techniques[0].version == version


@pytest.mark.parametrize("version", ["1", ">=1.0", "^1.0.0.0", "latest", "^"])
def test_technique_versions_that_fail(version: str) -> None:
    path = "binding_vow.techniques[0].version"
    assert list(errors(vow(techniques=[{"technique_id": "memory", "version": version}]))) == [path]


def test_technique_rules_name_the_entry() -> None:
    techniques = [
        {"technique_id": "memory"},
        {"technique_id": " "},
        "memory",
        {"technique_id": "x", "config_schema": []},
    ]
    assert list(errors(vow(techniques=techniques))) == [
        "binding_vow.techniques[1].technique_id",
        "binding_vow.techniques[2]",
        "binding_vow.techniques[3].config_schema",
    ]


def test_unknown_techniques_are_legal() -> None:
    assert sound(vow(techniques=[{"technique_id": "confidence-calibration"}])).techniques[0].config_schema is None


def test_a_technique_declared_twice_is_a_warning() -> None:
    raw = vow(techniques=[{"technique_id": "memory"}, {"technique_id": "memory"}])
    assert list(warnings(raw)) == ["binding_vow.techniques[1]"]


def test_parameters_under_another_name_are_pointed_at() -> None:
    raw = vow(techniques=[{"technique_id": "memory", "params": {"window_size": 3}}])
    assert "`config_schema`" in warnings(raw)["binding_vow.techniques[0].params"].fix


def test_unknown_keys_are_warnings_and_the_usual_ones_are_not() -> None:
    raw = vow(text="prose", actionspace={}, flavour="salt") | {"_comment": "x"}
    found = warnings(raw)
    assert list(found) == ["binding_vow.actionspace", "binding_vow.flavour"]
    assert found["binding_vow.actionspace"].fix == "did you mean `action_space`?"


def test_all_problems_come_together_each_with_path_and_fix() -> None:
    raw = vow(
        version=1.0,
        tier="gold",
        action_space={"fields": {"rudder": {"type": "continuous", "bounds": {"low": 3, "high": 1}}, "go": {}}},
        reward={"type": "x", "range": {"low": 1, "high": 0}},
        episode={"max_steps": 0, "observability": "x"},
        techniques=[{"version": "z"}],
        metadata=[],
    )
    found = errors(raw)
    assert set(found) == {
        "binding_vow.version",
        "binding_vow.tier",
        "binding_vow.action_space.fields.rudder.bounds",
        "binding_vow.action_space.fields.go.type",
        "binding_vow.reward.type",
        "binding_vow.reward.range",
        "binding_vow.episode.max_steps",
        "binding_vow.episode.observability",
        "binding_vow.techniques[0].technique_id",
        "binding_vow.techniques[0].version",
        "binding_vow.metadata",
    }
    assert all(problem.fix for problem in found.values())


def test_strange_keys_are_quoted_in_paths() -> None:
    raw = vow(action_space={"fields": {"a.b": {"type": "text"}, "c\n": 3, "d": {}}})
    assert 'binding_vow.action_space.fields["c\\n"]' in errors(raw)


def test_thousands_of_faults_in_one_field_are_summed_up() -> None:
    raw = vow(action_space={"type": "discrete", "enum_values": list(range(5000))})
    assert len(errors(raw)) == 51


@pytest.mark.parametrize("raw", [None, [], "vow", 7, True])
def test_a_vow_must_be_an_object(raw: object) -> None:
    assert list(errors(raw)) == ["binding_vow"]


def test_another_path_can_be_given() -> None:
    assert read_vow(None, "body.vow")[1][0].path == "body.vow"


@settings(deadline=None)
@given(JSON, st.sampled_from(["", *vow()]), st.sampled_from(["", *EpisodeSemantics.model_fields, "range", "type"]))
def test_any_json_gives_problems_and_no_exception(junk: object, key: str, inner: str) -> None:
    raw: Any = vow()
    if not key:
        raw = junk
    elif inner and isinstance(raw[key], dict):
        raw[key][inner] = junk
    else:
        raw[key] = junk
    found, problems = read_vow(raw)
    assert (found is None) == any(problem.severity == "error" for problem in problems)
    for problem in problems:
        str(problem).encode()


def test_building_a_vow_checks_types_and_validate_checks_rules() -> None:
    found = BindingVow.model_validate(vow(version="1.0", episode={"max_steps": 0}))
    with pytest.raises(VowViolation) as caught:
        found.validate()
    assert [problem.path for problem in caught.value.problems] == [
        "binding_vow.episode.max_steps",
        "binding_vow.version",
    ]
    assert caught.value.violations[0].startswith("binding_vow.episode.max_steps: must be at least 1")


def test_a_sound_vow_validates_in_silence() -> None:
    BindingVow.model_validate(vow()).validate()


def test_a_vow_can_be_put_together_from_parts() -> None:
    raw = vow() | {"reward": RewardSpec(type="binary"), "episode": EpisodeSemantics(max_steps=3)}
    raw["techniques"] = [TechniqueDeclaration(technique_id="memory")]
    found = BindingVow(**raw)
    found.validate()
    assert sound(raw) == found
    assert read_vow(found)[0] == found
