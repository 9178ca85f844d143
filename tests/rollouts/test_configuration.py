"""The configuration of an evaluation: what is read, and what is refused with every fault at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.rollouts.checking import KEYS
from mesocosm.rollouts.configuration import Columns, Config, Evaluation, Experiment, GraderTable, read_config

EXPERIMENT = """
[experiment]
rollout = "quiz"
entrypoint = "main.py"
model_path = "openai/gpt-5-mini"
dataset = "quiz"
"""
Write = Callable[..., Path]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for folder in ("rollouts/quiz", "rollouts/other", "configs/eval", "data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "rollouts/quiz/main.py").write_text("")
    return tmp_path


@pytest.fixture
def write(workspace: Path) -> Write:
    def written(text: str | bytes, name: str = "configs/eval/quiz.toml") -> Path:
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


def faults(path: Path, overrides: dict[str, Any] | None = None) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        read_config(path, overrides)
    return {problem.path: f"{problem.message} → {problem.fix}" for problem in caught.value.problems}


def test_the_published_example_is_read_with_the_documented_defaults(write: Write, workspace: Path) -> None:
    config = read_config(write(EXPERIMENT + "\n[evaluation]\n# limit = 200\n"))
    assert config.experiment == Experiment("quiz", "main.py", "openai/gpt-5-mini", "quiz")
    assert config.evaluation == Evaluation(None, False, None, None, 0, 1, None, 1.0, 450.0, 150.0)
    assert config.workspace.root == workspace.resolve()
    assert config.folder == workspace.resolve() / "rollouts" / "quiz"
    assert (config.grader, config.env, config.secrets, config.notes) == (None, {}, (), ())


def test_every_field_is_read(write: Write) -> None:
    config = read_config(
        write(
            EXPERIMENT
            + """
            [evaluation]
            limit = 20
            offset = 5
            seed = 7
            n = 4
            batch_size = 8
            pass_threshold = 0.5
            agent_workflow_timeout_s = 60
            grader_timeout_s = 1.5
            [dataset]
            revision = "v1"
            split = "test"
            config = "main"
            format = "csv"
            metadata = false
            columns = { user_prompt = "question", ground_truth = ["answer", "gold"] }
            [grader]
            use = "numeric"
            tolerance = 0.01
            [model]
            temperature = 0.7
            max_tokens = 100
            top_p = 0.9
            base_url = "http://127.0.0.1:1/v1/"
            timeout_s = 9
            judge = "openai/judge"
            reasoning_effort = "low"
            extra = { frequency_penalty = 0.1 }
            [advanced]
            isolation = "in-process"
            [env]
            LOG = "on"
            [secrets]
            required = ["KEY", "OTHER_KEY"]
            """
        )
    )
    assert config.evaluation == Evaluation(20, False, None, 7, 5, 4, 8, 0.5, 60.0, 1.5)
    assert config.dataset.columns == Columns("question", "system_prompt", ("answer", "gold"), "metadata")
    assert (config.dataset.revision, config.dataset.split, config.dataset.config) == ("v1", "test", "main")
    assert (config.dataset.format, config.dataset.metadata) == ("csv", False)
    assert config.grader == GraderTable("numeric", {"tolerance": 0.01})
    model = config.model
    assert (model.temperature, model.max_tokens, model.top_p, model.timeout_s) == (0.7, 100, 0.9, 9.0)
    assert (model.base_url, model.judge, model.reasoning_effort) == ("http://127.0.0.1:1/v1", "openai/judge", "low")
    assert model.extra == {"frequency_penalty": 0.1}
    assert (config.isolation, config.env, config.secrets) == ("in-process", {"LOG": "on"}, ("KEY", "OTHER_KEY"))


@pytest.mark.parametrize("limit", ['"all"', "0", "-3"])
def test_a_limit_of_all_or_nothing_takes_every_row(write: Write, limit: str) -> None:
    evaluation = read_config(write(f"{EXPERIMENT}[evaluation]\nlimit = {limit}")).evaluation
    assert (evaluation.everything, evaluation.limit) == (True, None)


def test_all_faults_are_told_together_with_section_and_key(write: Write) -> None:
    found = faults(
        write(
            """
            [experiment]
            rollout = "quizz"
            entrypoint = "main.py"
            model_path = ""
            dataset = "  "
            [evaluation]
            n = "x"
            batch_size = true
            pass_threshold = nan
            grader_timeout_s = 0
            [env]
            small = "x"
            [secrets]
            required = ["KEY", "KEY"]
            """
        )
    )
    assert list(found) == [
        "experiment.rollout",
        "experiment.model_path",
        "experiment.dataset",
        "evaluation.n",
        "evaluation.batch_size",
        "evaluation.pass_threshold",
        "evaluation.grader_timeout_s",
        "env.small",
        "secrets.required",
    ]
    assert "did you mean 'quiz'?" in found["experiment.rollout"]
    assert "must be an integer, not the string" in found["evaluation.n"]


def test_missing_keys_are_told_with_what_belongs_there(write: Write) -> None:
    found = faults(write("[evaluation]\nn = 1"))
    keys = ("rollout", "entrypoint", "model_path", "dataset")
    assert list(found) == [f"experiment.{key}" for key in keys]
    assert "openai/gpt-5-mini" in found["experiment.model_path"]


@pytest.mark.parametrize(
    ("text", "path", "fix"),
    [
        ("[evaluaton]\nn = 1", "evaluaton", "did you mean [evaluation]?"),
        ("[evaluation]\nbatch_sise = 1", "evaluation.batch_sise", "did you mean `batch_size`?"),
        ("[evaluation]\ntemperature = 1", "evaluation.temperature", "it belongs into [model]"),
        ("[training]\nlr = 1", "training", "configuration of training"),
        ("[[agents]]\nname = 'x'", "agents", "configuration of a benchmark"),
        ("[model]\napi_key = 'sk-1'", "model.api_key", "OPENAI_API_KEY"),
        ("[dataset.columns]\nprompt = 'x'", "dataset.columns.prompt", "user_prompt"),
        ("[secrets]\nrequird = ['A']", "secrets.requird", 'required = ["NAME"]'),
    ],
)
def test_unknown_sections_and_keys_come_with_a_suggestion(write: Write, text: str, path: str, fix: str) -> None:
    assert fix in faults(write(f"{EXPERIMENT}{text}"))[path]


def test_a_key_outside_of_sections_is_told_where_it_belongs(write: Write) -> None:
    assert "it belongs into [evaluation]" in faults(write(f"limit = 3\n{EXPERIMENT}"))["limit"]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("[evaluation]\nlimit = 1.5", "evaluation.limit"),
        ("[evaluation]\nlimit = 'some'", "evaluation.limit"),
        ("[evaluation]\nlimit = true", "evaluation.limit"),
        ("[evaluation]\nn = 0", "evaluation.n"),
        ("[evaluation]\nn = 99999999999999999999999999", "evaluation.n"),
        ("[evaluation]\nsample = 0", "evaluation.sample"),
        ("[evaluation]\nsample = 1.1", "evaluation.sample"),
        ("[evaluation]\nsample = 0.5\nlimit = 3", "evaluation.sample"),
        ("[evaluation]\nseed = -1", "evaluation.seed"),
        ("[evaluation]\noffset = -1", "evaluation.offset"),
        ("[evaluation]\npass_threshold = true", "evaluation.pass_threshold"),
        ("[evaluation]\npass_threshold = inf", "evaluation.pass_threshold"),
        ("[evaluation]\nagent_workflow_timeout_s = -1", "evaluation.agent_workflow_timeout_s"),
        ("[evaluation]\nagent_workflow_timeout_s = 1e300", "evaluation.agent_workflow_timeout_s"),
        ("[evaluation]\ngrader_timeout_s = 2026-01-01", "evaluation.grader_timeout_s"),
        ("[dataset]\nformat = 'xls'", "dataset.format"),
        ("[dataset]\nmetadata = 'yes'", "dataset.metadata"),
        ("[dataset.columns]\nground_truth = []", "dataset.columns.ground_truth"),
        ("[dataset]\ncolumns = 3", "dataset.columns"),
        ("[model]\ntop_p = 0", "model.top_p"),
        ("[model]\nbase_url = 'localhost'", "model.base_url"),
        ("[model]\njudge = 'gpt'", "model.judge"),
        ("[model]\nextra = {a = nan}", "model.extra.a"),
        ("[grader]\ntolerance = 1", "grader.use"),
        ("[grader]\nuse = 'numerc'", "grader.use"),
        ("[grader]\nuse = 'numeric'\ntolerance = 'wide'", "grader.tolerance"),
        ("[grader]\nuse = 'numeric'\ntolerence = 1", "grader.tolerence"),
        ("[grader]\nuse = 'numeric'\nconfig = 'x'", "grader.config"),
        ("[grader]\nuse = 'exact'\npattern = '('", "grader.pattern"),
        ("[grader]\nuse = 'regex'\nmatch = '('", "grader"),
        ("[grader]\nuse = 'numeric'\ntolerance = inf", "grader.tolerance"),
        ("[grader]\nuse = 'numeric'\ntolerance = 99999999999999999999", "grader.tolerance"),
        ("[advanced]\nisolation = 'none'", "advanced.isolation"),
        ("[env]\nPORT = 1", "env.PORT"),
        ("[env]\n_OSMOSIS_X = 'a'", "env._OSMOSIS_X"),
        ("[env]\nROLLOUT_PORT = 'a'", "env.ROLLOUT_PORT"),
        ('[env]\nA = "\\u0000"', "env.A"),
        ("[secrets]\nrequired = 'A'", "secrets.required"),
        ("[secrets]\nrequired = ['a']", "secrets.required"),
        ("[secrets]\nrequired = ['_A']", "secrets.required"),
        ("[secrets]\nrequired = ['ROLLOUT_PORT']", "secrets.required"),
        ("[env]\nA = 'x'\n[secrets]\nrequired = ['A']", "secrets.required"),
        ("evaluation = 3", "experiment.evaluation"),
        ("[[evaluation]]\nn = 1", "evaluation"),
    ],
)
def test_a_value_that_cannot_be_is_refused_here(write: Write, line: str, path: str) -> None:
    assert list(faults(write(f"{EXPERIMENT}{line}"))) == [path]


def test_a_number_that_is_too_large_is_told_the_most(write: Write) -> None:
    found = faults(write(f"{EXPERIMENT}[evaluation]\nn = 99999999999"))
    assert "at most 2,147,483,647" in str(found["evaluation.n"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rollout", "../quiz"),
        ("rollout", ".."),
        ("rollout", "quiz/main.py"),
        ("rollout", "absent"),
        ("rollout", "x" * 5000),
        ("entrypoint", "absent.py"),
        ("entrypoint", "../other"),
        ("entrypoint", "../../../absent.py"),
        ("entrypoint", "/etc/hostname"),
        ("entrypoint", "a\\u0000b"),
        ("model_path", "gpt-5-mini"),
        ("model_path", "openai/"),
        ("branch", "two words"),
        ("branch", ""),
        ("commit_sha", "abc"),
        ("commit_sha", "g" * 40),
    ],
)
def test_an_experiment_that_cannot_be_is_refused(write: Write, key: str, value: str) -> None:
    kept = "\n".join(line for line in EXPERIMENT.splitlines() if not line.startswith(key))
    assert list(faults(write(f'{kept}\n{key} = "{value}"'))) == [f"experiment.{key}"]


def test_a_rollout_that_is_a_link_out_of_the_workspace_is_refused(write: Write, workspace: Path) -> None:
    outside = workspace.parent / f"{workspace.name}-outside"
    outside.mkdir()
    (outside / "main.py").write_text("")
    (workspace / "rollouts" / "linked").symlink_to(outside)
    found = faults(write(EXPERIMENT.replace('rollout = "quiz"', 'rollout = "linked"')))
    assert "leads out" in found["experiment.rollout"]


def test_a_missing_file_is_not_said_to_lead_out(write: Write) -> None:
    found = faults(write(EXPERIMENT.replace("main.py", "sub/../mian.py")))
    assert "there is no file" in found["experiment.entrypoint"]


def test_an_entry_file_that_is_a_link_out_of_the_rollout_is_refused(write: Write, workspace: Path) -> None:
    (workspace / "shared.py").write_text("")
    (workspace / "rollouts" / "quiz" / "linked.py").symlink_to(workspace / "shared.py")
    found = faults(write(EXPERIMENT.replace("main.py", "linked.py")))
    assert "leads out" in found["experiment.entrypoint"]


def test_branch_and_commit_exclude_each_other(write: Write) -> None:
    found = faults(write(f'{EXPERIMENT}branch = "main"\ncommit_sha = "0123abc"'))
    assert "only one" in found["experiment.branch"]


def test_a_commit_that_cannot_be_checked_out_is_refused(write: Write) -> None:
    found = faults(write(f'{EXPERIMENT}commit_sha = "0123ABC"'))
    assert "no git repository" in found["experiment.commit_sha"]


def test_unknown_advanced_settings_are_kept_and_noted(write: Write) -> None:
    config = read_config(write(f"{EXPERIMENT}[advanced]\nregion = 'x'\nisolation = 'process'"))
    assert config.advanced == {"region": "x", "isolation": "process"}
    assert len(config.notes) == 1
    assert "region" in config.notes[0]


@pytest.mark.parametrize("text", ["${HOME}", "a ${API_KEY:-x} b"])
@pytest.mark.parametrize("place", ["[env]\nA = {}", "[advanced]\nx = [[{}]]", "[grader]\nuse = {}"])
def test_a_variable_in_a_value_is_refused_and_explained(write: Write, text: str, place: str) -> None:
    found = faults(write(EXPERIMENT + place.format(f'"{text}"')))
    assert ["--secrets-file" in message for message in found.values()] == [True]


def test_a_dollar_that_is_no_variable_is_text(write: Write) -> None:
    assert read_config(write(f"{EXPERIMENT}[grader]\nuse = 'regex'\nmatch = '^a{{2}}[${{1}}]$'")).grader is not None


def test_values_of_variables_and_secrets_are_never_repeated(write: Write) -> None:
    path = write(f"{EXPERIMENT}[env]\nA = ['sk-12345']\n[secrets]\nrequired = ['sk-12345', 7]\nB = 'sk-12345'")
    with pytest.raises(InvalidInput) as caught:
        read_config(path)
    assert "12345" not in str(caught.value)


def test_broken_toml_is_told_with_its_line(write: Write) -> None:
    found = faults(write("[experiment]\nrollout = \n"))
    assert [path.startswith("line 2") for path in found] == [True]


@pytest.mark.parametrize("content", [b"a = \xff", "a = '\ud7ff".encode("utf-16"), b"a = " + b"[" * 5000])
def test_a_file_that_is_no_text_or_nested_without_end_is_refused(write: Write, content: bytes) -> None:
    with pytest.raises(UsageError):
        read_config(write(content))


def test_keys_nested_without_end_are_refused(write: Write) -> None:
    with pytest.raises(UsageError, match=r"levels deep|allowed 1000 parts"):  # the latter is tomllib's, from 3.14 on
        read_config(write("advanced" + ".a" * 5000 + " = 1"))


def test_a_number_of_ten_thousand_digits_is_refused(write: Write) -> None:
    with pytest.raises(UsageError):
        read_config(write(f"{EXPERIMENT}[evaluation]\nn = 1{'0' * 10_000}"))


def test_a_byte_order_mark_and_windows_line_ends_are_read(write: Write) -> None:
    assert read_config(write(b"\xef\xbb\xbf" + EXPERIMENT.replace("\n", "\r\n").encode())).secrets == ()


def test_a_file_elsewhere_in_the_workspace_is_refused_with_the_directory_expected(write: Write) -> None:
    with pytest.raises(UsageError, match=r"configs/eval"):
        read_config(write(EXPERIMENT, "configs/quiz.toml"))


def test_a_file_below_configs_eval_may_lie_in_a_folder(write: Write) -> None:
    assert read_config(write(EXPERIMENT, "configs/eval/nightly/quiz.toml")).experiment.rollout == "quiz"


def test_a_file_outside_of_workspaces_is_refused_with_the_folders_expected(tmp_path: Path) -> None:
    path = tmp_path / "configs" / "eval" / "quiz.toml"
    path.parent.mkdir(parents=True)
    path.write_text(EXPERIMENT)
    with pytest.raises(UsageError, match=r"rollouts/ and configs/"):
        read_config(path)


@pytest.mark.parametrize("name", ["configs/eval/quiz.json", "configs/eval/absent.toml", "configs/eval"])
def test_what_is_no_toml_file_is_refused(workspace: Path, name: str) -> None:
    (workspace / "configs/eval/quiz.json").write_text("{}")
    with pytest.raises(UsageError):
        read_config(workspace / name)


WORDS = """
    experiment evaluation dataset grader model advanced env secrets eval llm runs output baseline timeouts rollout
    columns use module config required limit n model_path sample A extra isolation ${A} é
"""
names = st.sampled_from(WORDS.split()) | st.text(max_size=5)
scalars = st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates() | st.datetimes()
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4))
documents = st.dictionaries(names, values | st.dictionaries(names, values, max_size=5), max_size=6)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return text(value) if isinstance(value, str) else str(value)


def text(value: str) -> str:
    plain = value.encode(errors="ignore").decode()
    return '"' + "".join(char if char.isalnum() and char.isascii() else f"\\U{ord(char):08x}" for char in plain) + '"'


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=documents, overrides=st.dictionaries(names, values, max_size=2))
def test_no_document_whatever_raises_anything_but_usage_errors(
    write: Write, document: dict[str, Any], overrides: dict[str, Any]
) -> None:
    path = write("\n".join(f"{text(key)} = {toml(value)}" for key, value in document.items()))
    try:
        config = read_config(path, {f"evaluation.{key}": value for key, value in overrides.items()})
    except UsageError:
        return
    assert isinstance(config, Config)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text(alphabet="[]{}=\"'.\n #\\aé1", max_size=60).map(str.encode))
def test_no_bytes_whatever_raise_anything_but_usage_errors(write: Write, content: bytes) -> None:
    with pytest.raises(UsageError):
        read_config(write(content))


@pytest.mark.parametrize("table", [name for name in KEYS if name != "secrets"])
def test_every_key_stands_on_the_page_about_configurations(table: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "eval-configuration.md").read_text("utf-8")
    part = page.partition(f"## `[{table}]`")[2].partition("\n## ")[0]
    assert [key for key in KEYS[table] if f"`{key}`" not in part and f"[{table}.{key}]" not in part] == []
