"""What `mesocosm validate` says."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.environments.manifest import load_manifest
from mesocosm.environments.validation import (
    ValidationResult,
    is_manifest,
    load_policy,
    validate_bytes,
    validate_document,
    validate_file,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=10,
)
VOW: dict[str, Any] = {
    "version": "1.0.0",
    "tier": "tier1",
    "observation_space": {"type": "json"},
    "action_space": {"type": "text"},
    "reward": {"type": "binary"},
    "episode": {"max_steps": 12},
}
SCORING: dict[str, Any] = {
    "primary_metric": "won",
    "metrics": [{"name": "won", "type": "episode_reward", "aggregation": "pass_rate"}],
}


def manifest(**changes: Any) -> dict[str, Any]:
    whole = {"adapter": "adapter.py", "name": "Quarry", "binding_vow": VOW, "scoring": SCORING} | changes
    return {key: value for key, value in whole.items() if value is not None}


def register(**changes: Any) -> dict[str, Any]:
    body = {"id": "quarry", "name": "Quarry", "owner_id": "7", "binding_vow": VOW, "scoring": SCORING}
    whole = body | {"endpoint": {"mode": "remote", "url": "https://quarry.example"}} | changes
    return {key: value for key, value in whole.items() if value is not None}


def check(raw: object, directory: Path | None = None) -> ValidationResult:
    return validate_document(raw, directory=directory)


def places(verdict: ValidationResult) -> list[str]:
    return [problem.path for problem in verdict.problems]


def test_a_sound_manifest_gives_the_five_keys_and_two_more() -> None:
    assert check(manifest()).to_json() == {
        "ok": True,
        "issues": [],
        "suggested_fixes": [],
        "rules_version": "0.1.0",
        "schema": "benchanything_manifest",
        "problems": [],
        "warnings": [],
    }


def test_a_sound_register_body_has_no_schema_key() -> None:
    document = check(register()).to_json()
    assert document["ok"] is True
    assert "schema" not in document


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"adapter": "a.py"}, True),
        ({"adapter": "a.py", "endpoint": {}, "owner_id": "1"}, True),
        ({"binding_vow": {}, "scoring": {}}, True),
        ({"binding_vow": {}, "scoring": {}, "owner_id": "1"}, False),
        ({"binding_vow": {}, "scoring": {}, "endpoint": {}}, False),
        ({"adapter": "", "binding_vow": {}}, False),
        ({}, False),
        ([], False),
    ],
)
def test_the_shape_is_told_by_the_keys(raw: object, expected: bool) -> None:
    assert is_manifest(raw) is expected


@pytest.mark.parametrize("key", ["name", "binding_vow", "scoring"])
@pytest.mark.parametrize("value", [None, ""])
def test_required_keys_of_a_manifest(key: str, value: object) -> None:
    assert key in places(check(manifest(**{key: value})))


@pytest.mark.parametrize("key", ["id", "name", "owner_id", "binding_vow", "endpoint", "scoring"])
def test_required_keys_of_a_register_body(key: str) -> None:
    assert places(check(register(**{key: None}))) == [key]


@pytest.mark.parametrize("raw", [manifest, register])
def test_rules_of_vow_and_scoring_count_in_both_shapes(raw: Any) -> None:
    broken = raw(
        binding_vow=VOW | {"version": "1", "action_space": {"type": "discrete"}},
        scoring=SCORING | {"primary_metric": "wno"},
    )
    verdict = check(broken)
    assert places(verdict) == ["binding_vow.action_space.enum_values", "binding_vow.version", "scoring.primary_metric"]
    document = verdict.to_json()
    assert len(document["issues"]) == len(document["suggested_fixes"]) == 3
    assert document["issues"][2] == 'scoring.primary_metric: the string "wno" is the name of no metric'
    assert document["problems"][2] == {
        "path": "scoring.primary_metric",
        "message": 'the string "wno" is the name of no metric',
        "fix": "did you mean 'won'?",
        "severity": "error",
    }


@pytest.mark.parametrize("raw", [manifest, register])
@pytest.mark.parametrize("episode", [{}, {"max_steps": None}])
def test_a_missing_step_budget_is_an_issue(raw: Any, episode: dict[str, Any]) -> None:
    verdict = check(raw(binding_vow=VOW | {"episode": episode}))
    assert places(verdict) == ["binding_vow.episode.max_steps"]
    assert not verdict.ok


def test_a_budget_above_the_platform_default_is_a_warning_with_the_value() -> None:
    verdict = check(manifest(binding_vow=VOW | {"episode": {"max_steps": 600}}))
    assert verdict.ok
    assert [problem.path for problem in verdict.warnings] == ["binding_vow.episode.max_steps"]
    assert "600" in verdict.warnings[0].message
    assert "200" in verdict.warnings[0].message
    assert check(manifest(binding_vow=VOW | {"episode": {"max_steps": 200}})).warnings == ()


def test_the_adapter_is_looked_up_where_the_directory_is_known(tmp_path: Path) -> None:
    assert check(manifest()).ok
    assert places(check(manifest(), tmp_path)) == ["adapter"]
    (tmp_path / "adapter.py").touch()
    assert check(manifest(), tmp_path).ok
    assert places(check(manifest(adapter="../adapter.py"))) == ["adapter"]


@pytest.mark.parametrize("model", ["ollama/a", "openai/a", "anthropic/a", "google/a", "gemini/a"])
def test_models_of_known_providers_pass(model: str) -> None:
    assert check(register(inferred_agent={"model": model})).ok


@pytest.mark.parametrize("model", ["llama3", "grok/a", 5])
def test_other_models_are_an_issue_in_a_register_body_alone(model: object) -> None:
    assert places(check(register(inferred_agent={"model": model}))) == ["inferred_agent.model"]
    assert check(manifest(inferred_agent={"model": model})).ok


def test_ids_of_body_and_vow_must_agree() -> None:
    assert places(check(register(binding_vow=VOW | {"domain_id": "other"}))) == ["binding_vow.domain_id"]
    assert check(register(binding_vow=VOW | {"domain_id": "quarry"})).ok


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [("https://x", "endpoint"), ({"mode": "cloud"}, "endpoint.mode"), ({"url": 5}, "endpoint.url")],
)
def test_the_endpoint_is_checked(endpoint: object, path: str) -> None:
    assert places(check(register(endpoint=endpoint))) == [path]


def test_unknown_keys_are_warnings_that_fail_nothing() -> None:
    verdict = check(manifest(binding_vow=VOW | {"flavour": 1}))
    assert verdict.ok
    assert verdict.to_json()["warnings"][0]["path"] == "binding_vow.flavour"


@pytest.mark.parametrize("raw", [None, [], "x", 3])
def test_a_document_that_is_no_object_is_an_issue_and_no_crash(raw: object) -> None:
    verdict = check(raw)
    assert not verdict.ok
    assert "must be an object" in verdict.to_json()["issues"][0]


@settings(deadline=None)
@given(JSON, st.sampled_from(["", *register(), "adapter", "inferred_agent"]))
def test_any_json_gives_a_verdict_that_is_json(junk: object, key: str) -> None:
    raw: object = register(**{key: junk}) if key else junk
    json.dumps(check(raw).to_json())


def test_the_shipped_policy_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MESOCOSM_POLICY_DIR", raising=False)
    policy, problems = load_policy()
    assert problems == []
    assert policy is not None
    assert policy.required_register_fields[0] == "id"


def test_an_operator_can_put_other_rules_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {"rules_version": "9", "required_register_fields": ["licence"], "allowed_model_prefixes": ["own/"]}
    (tmp_path / "constraints.json").write_text(json.dumps(rules))
    monkeypatch.setenv("MESOCOSM_POLICY_DIR", str(tmp_path))
    verdict = check(register(inferred_agent={"model": "openai/a"}))
    assert verdict.rules_version == "9"
    assert places(verdict) == ["licence", "inferred_agent.model"]


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("{}", "rules_version"), ("[" * 10**5, "is not JSON")],
)
def test_a_policy_that_cannot_be_used_is_an_issue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "constraints.json").write_text(content)
    monkeypatch.setenv("MESOCOSM_POLICY_DIR", str(tmp_path))
    verdict = check(manifest())
    assert not verdict.ok
    assert words in verdict.to_json()["issues"][0]
    assert verdict.to_json()["schema"] == "benchanything_manifest"


def warned(verdict: ValidationResult) -> list[str]:
    return [problem.path for problem in verdict.warnings]


def acting(schema: object) -> dict[str, Any]:
    return manifest(binding_vow=VOW | {"action_space": {"type": "json", "schema": schema}})


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "objct"}, "type"),
        ({"type": "integer", "minimum": 5, "maximum": 1}, ""),
        ({"type": "number", "exclusiveMinimum": 1, "maximum": 1}, ""),
        ({"enum": []}, "enum"),
        ({"type": "string", "enum": [1, 2]}, "enum"),
        ({"type": "string", "const": 1}, "const"),
        ({"required": ["a"], "properties": {"b": {}}, "additionalProperties": False}, "required"),
        ({"properties": {"a": {"type": "array", "minItems": 3, "maxItems": 2}}}, "properties.a"),
        ({"properties": {"a": False}, "required": ["a"]}, "properties.a"),
        ({"properties": ["a"]}, "properties"),
        ({"type": "string", "pattern": "("}, "pattern"),
        ({"$ref": "#/$defs/none"}, "$ref"),
        ({"anyOf": [{"type": "none"}]}, "anyOf[0].type"),
    ],
)
def test_a_schema_that_nothing_fits_is_an_issue(schema: object, path: str) -> None:
    whole = "binding_vow.action_space.schema" + (f".{path}" if path else "")
    assert places(check(acting(schema))) == [whole]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"], "maxLength": 0},
        {"$defs": {"a": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/a"}, "no": False}},
        {"type": "integer", "minimum": 1, "maximum": 1, "enum": [1.0]},
        {"required": ["a"], "patternProperties": {"a": {}}, "additionalProperties": False},
        {"$ref": "https://elsewhere.example/schema"},
    ],
)
def test_a_schema_that_something_fits_is_none(schema: object) -> None:
    assert check(acting(schema)).ok


def scored(threshold: float, **reward: float) -> dict[str, Any]:
    metrics = [{**SCORING["metrics"][0], "pass_threshold": threshold}]
    return manifest(
        binding_vow=VOW | {"reward": {"type": "scalar", "range": reward}}, scoring={**SCORING, "metrics": metrics}
    )


def test_a_threshold_that_no_episode_can_exceed_is_an_issue() -> None:
    path = "scoring.metrics[0].pass_threshold"
    assert places(check(scored(1.0, low=0, high=1))) == [path]
    assert places(check(scored(-0.5, low=0, high=1))) == [path]
    assert check(scored(0.5, low=0, high=1)).ok
    assert check(scored(5, low=0)).ok


def test_unknown_techniques_and_parameters_are_warnings() -> None:
    techniques = [{"technique_id": "telepathy"}, {"technique_id": "memory", "config_schema": {"window": 3}}]
    found = check(manifest(binding_vow=VOW | {"techniques": techniques}))
    assert (found.ok, warned(found)) == (True, ["binding_vow.techniques[0]", "binding_vow.techniques[1]"])
    assert "'telepathy'" in found.warnings[0].message
    assert "'window'" in found.warnings[1].message


def test_an_id_that_is_none_is_told() -> None:
    assert warned(check(manifest(id="my env/1"))) == ["id"]
    assert places(check(register(id="my env/1"))) == ["id"]


def test_a_key_given_twice_is_an_issue() -> None:
    text = json.dumps(manifest())[:-1] + ', "name": "Other"}'
    assert places(validate_bytes(text.encode())) == ["name"]


def test_a_text_that_is_no_json_has_a_verdict() -> None:
    document = validate_bytes(b'{"a": 1,}').to_json()
    assert (document["ok"], document["rules_version"]) == (False, "0.1.0")
    assert "line 1, column" in document["issues"][0]


def test_a_folder_stands_for_the_manifest_that_a_run_would_take(tmp_path: Path) -> None:
    for place in ("auxiliary", "files"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "adapter.py").touch()
        (tmp_path / place / "benchanything.json").write_text(json.dumps(manifest(name=place)))
    found = validate_file(tmp_path)
    assert found.ok
    assert "2 manifests (auxiliary/benchanything.json, files/benchanything.json)" in found.warnings[0].message
    assert load_manifest(tmp_path).name == "auxiliary"


def test_a_file_with_the_name_of_a_manifest_is_one(tmp_path: Path) -> None:
    (tmp_path / "benchanything.json").write_text("{}")
    assert places(validate_file(tmp_path / "benchanything.json")) == [
        "adapter",
        "name",
        "binding_vow",
        "scoring",
    ]


@pytest.mark.parametrize("raw", [acting({"enum": []}), scored(1.0, low=0, high=1)])
def test_what_makes_results_meaningless_keeps_no_run_from_starting(raw: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "adapter.py").touch()
    (tmp_path / "benchanything.json").write_text(json.dumps(raw))
    assert len(load_manifest(tmp_path).warnings) == 1
