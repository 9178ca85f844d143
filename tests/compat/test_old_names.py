"""Programs written for the original package find their names."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NAMES = {
    "bench_common.core.binding_vow": "SpaceType SpaceSpec CompositeSpace RewardSpec EpisodeSemantics "
    "TechniqueDeclaration BindingVow",
    "bench_common.core.domain": "Domain EnvironmentEndpoint ResourceSpec VersionEntry",
    "bench_common.core.scoring": "MetricDef ScoringConfig",
    "bench_common.core.run": "AgentConfig TechniqueConfig RunConfig Run Episode TraceEvent",
    "bench_common.core.errors": "BenchError VowViolationError ManifestError EnvironmentStartupError StorageError",
    "bench_common.env_sdk": "BaseEnv StepResult serve register_domain DomainConfig",
    "bench_common.env_sdk.manifest": "load_manifest domain_config_from_manifest find_manifest_path "
    "resolve_adapter_path INIT_FILES_DIR DEFAULT_MANIFEST",
    "bench_common.env_sdk.registration": "DomainConfig register_domain publish_domain",
    "bench_common.env_sdk.register": "main",
    "bench_common.env_sdk.base": "BaseEnv StepResult",
    "bench_common.env_sdk.server": "serve uvicorn _ResetRequest _StepRequest _CloseRequest _RenderRequest "
    "_jsonable_payload _info_payload _reward_payload",
    "bench_common.inference": "bench BenchResult multi_bench MultiBenchResult",
    "bench_common.inference.bench": "bench BenchResult",
    "bench_common.inference.multi_bench": "multi_bench MultiBenchResult",
    "bench_common.runtime.inference": "InferenceRouter _wrap_action_schema _space_to_json_schema normalize_model_id "
    "StructuredOutputError DecideResult",
    "bench_common.runtime.env_client": "HttpEnvClient Observation StepResult",
    "bench_common.runtime.agent_loop": "AgentLoop",
    "bench_common.runtime.multi_agent_loop": "MultiAgentLoop RoleState _resolve_active_role",
    "bench_common.eval.metrics": "compute_scores compute_metric",
    "bench_common.export": "build_replay_turns build_run_export_dict",
    "bench_common.storage.trace_store": "TraceStore",
    "bench_common.techniques": "TECHNIQUE_REGISTRY",
    "bench_common.techniques.base": "Technique",
    "bench_common.config": "settings",
    "bench_common.config.settings": "settings",
    "bench_common.model_catalog": "FULL_BENCH_MODELS EXTRA_MODEL_ALIASES ALLOWED_MODELS MODEL_LABELS",
    "bench_common.utils.github": "normalize_github_url validate_github_url InvalidGithubUrl",
    "bench_common.auth": "load_credentials save_credentials clear_credentials get_bench_session BenchSession login "
    "fetch_csrf fetch_jwt",
    "swecc_mesocosm": "BenchClient __version__",
}
MANIFEST: dict[str, Any] = {
    "adapter": "adapter.py",
    "name": "Kiln",
    "binding_vow": {
        "version": "2.0.1",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "binary"},
        "episode": {},
    },
    "scoring": {
        "primary_metric": "fired",
        "metrics": [{"name": "fired", "type": "terminal_field", "field": "fired", "aggregation": "pass_rate"}],
    },
}


def repository(root: Path, **changes: Any) -> Path:
    directory = root / "kiln" / "auxiliary"
    directory.mkdir(parents=True)
    (directory / "adapter.py").touch()
    (directory / "benchanything.json").write_text(json.dumps(MANIFEST | changes))
    return root / "kiln"


@pytest.mark.parametrize("module", NAMES)
def test_every_old_name_can_be_imported(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(found, name)] == []


def test_what_is_module_and_function_alike_is_the_function() -> None:
    program = (
        "import bench_common.inference.bench, bench_common.inference.multi_bench\n"
        "from bench_common.inference import bench, multi_bench\n"
        "from bench_common.inference.bench import bench as same\n"
        "assert bench is same and callable(multi_bench), (bench, multi_bench)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_bench_loads_nothing_but_the_standard_library() -> None:
    program = "import sys, bench_common, bench_common.inference; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert {"mesocosm", "pydantic", "msgspec", "sqlalchemy"}.isdisjoint(loaded)


def test_the_authors_import_loads_neither_pydantic_nor_a_web_server() -> None:
    program = "import sys; from bench_common.env_sdk import BaseEnv, StepResult; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert {"pydantic", "fastapi", "uvicorn"}.isdisjoint(loaded)


def test_every_error_is_a_bench_error() -> None:
    errors = importlib.import_module("bench_common.core.errors")
    assert all(issubclass(getattr(errors, name), errors.BenchError) for name in errors.__all__)


def test_a_vow_in_the_old_words_validates() -> None:
    from bench_common.core.binding_vow import BindingVow, EpisodeSemantics, RewardSpec, SpaceSpec, SpaceType
    from bench_common.core.errors import VowViolationError

    vow = BindingVow(
        id="kiln-vow",
        domain_id="kiln",
        version="1.0.0",
        tier="tier1",
        observation_space=SpaceSpec(type=SpaceType.JSON),
        action_space=SpaceSpec(type=SpaceType.DISCRETE, enum_values=["heat", "cool"]),
        reward=RewardSpec(type="binary", range={"low": 0.0, "high": 1.0}),
        episode=EpisodeSemantics(max_steps=10),
    )
    vow.validate()
    vow.action_space = SpaceSpec(type=SpaceType.DISCRETE)
    with pytest.raises(VowViolationError, match=r"action_space\.enum_values"):
        vow.validate()


def test_the_manifest_comes_as_the_author_wrote_it(tmp_path: Path) -> None:
    from bench_common.env_sdk.manifest import find_manifest_path, load_manifest, resolve_adapter_path

    directory = repository(tmp_path, extra=[1])
    path = find_manifest_path(directory)
    assert path == directory / "auxiliary" / "benchanything.json"
    assert load_manifest(path) == MANIFEST | {"extra": [1]}
    assert load_manifest(str(path))["name"] == "Kiln"
    assert resolve_adapter_path(path) == (directory / "auxiliary" / "adapter.py").resolve()


def test_old_manifest_functions_raise_manifest_errors(tmp_path: Path) -> None:
    from bench_common.core.errors import ManifestError
    from bench_common.env_sdk.manifest import find_manifest_path, load_manifest, resolve_adapter_path

    with pytest.raises(ManifestError, match="searched"):
        find_manifest_path(tmp_path)
    with pytest.raises(ManifestError, match="cannot be read"):
        load_manifest(tmp_path / "none.json")
    path = tmp_path / "m.json"
    path.write_text("[]")
    with pytest.raises(ManifestError, match="must be an object"):
        load_manifest(path)
    path.write_text('{"adapter": "a.py", "name": "x"}')
    with pytest.raises(ManifestError, match=r"binding_vow: is required(?s:.*)scoring: is required"):
        load_manifest(path)
    path.write_text(json.dumps(MANIFEST | {"adapter": "../a.py"}))
    with pytest.raises(ManifestError, match="must not leave"):
        resolve_adapter_path(path)


def test_a_domain_config_comes_out_of_a_manifest(tmp_path: Path) -> None:
    from bench_common.env_sdk.manifest import DEFAULT_MANIFEST, domain_config_from_manifest

    config = domain_config_from_manifest(repository(tmp_path) / DEFAULT_MANIFEST)
    assert (config.id, config.owner_id, config.pricing) == ("kiln", "", "free")
    assert config.endpoint.url == "http://localhost:8765"
    assert (config.binding_vow.id, config.binding_vow.domain_id) == ("kiln-v2.0.1", "kiln")
    assert config.scoring.primary_metric == "fired"


def test_run_records_have_the_old_defaults() -> None:
    from bench_common.core.run import AgentConfig, Episode, Run, RunConfig

    config = RunConfig(domain_id="kiln", binding_vow_version="1.0.0", agent_config=AgentConfig(model="ollama/a"))
    assert config.agent_config.model_dump() == {
        "model": "ollama/a",
        "system_prompt": None,
        "techniques": [],
        "temperature": 0.0,
        "max_tokens": 4096,
    }
    assert Run(id="r", config=config).model_dump(mode="json")["status"] == "pending"
    assert Episode(id="e", run_id="r").terminal_info == {}
    with pytest.raises(ValueError, match="2 seeds for 1 episodes"):
        RunConfig(**config.model_dump(exclude={"seed_set"}), seed_set=[1, 2])


def test_a_domain_has_the_old_defaults(tmp_path: Path) -> None:
    from bench_common.core.domain import Domain, ResourceSpec
    from bench_common.env_sdk.manifest import domain_config_from_manifest

    config = domain_config_from_manifest(repository(tmp_path) / "auxiliary" / "benchanything.json")
    domain = Domain.model_validate(config.model_dump() | {"status": "published", "colour": "red"})
    assert domain.status == "published"
    assert Domain.model_validate(config.model_dump()).status == "draft"
    assert ResourceSpec().model_dump() == {"cpu": "2", "memory": "4Gi", "gpu": None, "timeout_seconds": 3600}
