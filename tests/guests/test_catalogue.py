"""What can be run: read once from a framework, kept, and found by words."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.cli.conftest import invoke
from tests.guests.conftest import ADDER

from mesocosm.guests import catalogue
from mesocosm.guests.catalogue import entries_of, matching, own_entries
from mesocosm.guests.installable import INSTALLABLE
from mesocosm.guests.kinds import KINDS
from mesocosm.guests.messages import CatalogueEntry
from mesocosm.guests.names import FILE, kept, named_entries
from mesocosm.sandboxes.installed import guests_folder
from mesocosm.store import open_store

ENTRIES = [
    CatalogueEntry("hard_sums", "adder:hard_sums", "Hard sums", tags=("numbers",)),
    CatalogueEntry("sums", "adder:sums", "Sums", "Simple addition"),
    CatalogueEntry("words", "adder:words", "Words", "Spelling of sums"),
]


def test_a_framework_is_asked_once_for_a_version() -> None:
    notices: list[str] = []
    found = [entries_of(ADDER, notices.append), entries_of(ADDER, notices.append)]
    assert [entry.run for entry in found[0]] == ["adder:sums", "adder:hard_sums"]
    assert found[0] == found[1]
    assert notices == ["reading what Adder offers"]


def test_what_an_earlier_version_of_mesocosm_was_told_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[str] = []
    entries_of(ADDER, notices.append)
    monkeypatch.setattr(catalogue, "_adapters", lambda: "another version")
    entries_of(ADDER, notices.append)
    assert notices == 2 * ["reading what Adder offers"]


def test_a_file_that_cannot_be_read_is_made_anew() -> None:
    entries_of(ADDER, lambda _: None)
    (kept,) = (guests_folder() / "catalogue").iterdir()
    kept.write_text("[{")
    assert len(entries_of(ADDER, lambda _: None)) == 2


def test_names_come_before_descriptions_and_the_exact_name_first() -> None:
    assert [entry.id for entry in matching(ENTRIES, ["sums"])] == ["sums", "hard_sums", "words"]


def test_all_words_must_be_there_in_any_case() -> None:
    assert [entry.id for entry in matching(ENTRIES, ["SUMS", "numbers"])] == ["hard_sums"]


def test_of_a_framework_that_is_not_here_names_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = invoke("bench", "search", "tau2_airline")
    assert "inspect:inspect_evals/tau2_airline" in found.out
    assert "Run one: mesocosm guests install inspect" in found.out


def test_what_is_named_is_written_again_as_it_is() -> None:
    entries = [entry for kind in KINDS.values() for entry in named_entries(kind)]
    assert kept([replace(entry, missing=False, tags=("group",)) for entry in entries]) == FILE.read_text().split()


def test_our_own_benchmarks_are_among_them() -> None:
    assert {"gsm8k", "bfcl"} <= {entry.run for entry in own_entries()}


@pytest.fixture
def only_adder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "KINDS", {"adder": ADDER})


@pytest.mark.usefixtures("only_adder")
def test_search_says_how_to_run_what_it_finds() -> None:
    found = invoke("bench", "search", "sums", "--of", "adder")
    assert found.code == 0
    assert "adder:hard_sums" in found.out
    assert "Run one: mesocosm bench run adder:sums -m MODEL" in found.out


@pytest.mark.usefixtures("only_adder")
def test_search_as_json_counts() -> None:
    document = invoke("--json", "bench", "search", "sums", "--of", "adder", "--limit", "1").document
    assert [document["found"], [item["run"] for item in document["items"]]] == [2, ["adder:sums"]]


def test_bench_run_plays_a_benchmark_of_a_framework() -> None:
    played = invoke("bench", "run", "adder:sums", "-m", "builtin/empty", "-n", "2")
    assert "adder/sums" in played.out + played.err
    again = invoke("--json", "bench", "run", "adder:sums", "-m", "builtin/empty", "-n", "2").document
    assert again["run"]["counts"]["completed"] == 2


@pytest.mark.parametrize("words", [("--timeout", "600"), ("--set", "evaluation.timeout_s=600")])
def test_a_time_limit_of_bench_run_is_that_of_the_benchmark(words: tuple[str, str], place: Path) -> None:
    assert invoke("bench", "run", "adder:sums", "-m", "builtin/empty", "-n", "1", *words).code == 0
    store = open_store(place / "results")
    (run_id,) = store.runs.ids()
    limits = store.runs.get(run_id).spec.limits
    store.close()
    assert [limits.run_seconds, limits.episode_seconds] == [600.0, None]


def test_run_local_plays_an_environment_of_a_framework() -> None:
    played = invoke("--json", "run", "local", "counter:up", "-m", "builtin/oracle", "--episodes", "3").document
    assert [played["run"]["status"], played["run"]["counts"]["completed"]] == ["finished", 3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["adder:sums", "gsm8k"], "gsm8k and adder:sums run in commands of their own"),
        (["adder:sums", "--dry-run"], "--dry-run does nothing for adder:sums"),
        (["adder:sums", "--executor", "processes:2", "-m", "builtin/random"], "with --executor, name one model"),
    ],
)
def test_what_cannot_be_heeded_is_refused(words: list[str], said: str) -> None:
    refused = invoke("bench", "run", *words, "-m", "builtin/empty")
    assert [refused.code, said in refused.err] == [2, True]


def test_validate_says_that_who_knows_nothing_earns_something() -> None:
    validated = invoke("validate", "counter:up", "--extra", '{"bounded": true}', "-n", "3")
    assert [validated.code, "counter/up: solvable · free" in validated.out] == [1, True]


def test_without_bounds_validate_does_not_say_what_is_free() -> None:
    validated = invoke("validate", "counter:up", "-n", "2")
    assert "not known whether free" in validated.out


def test_guests_that_are_not_here_are_listed_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    listed = invoke("guests", "list")
    assert [name for name in INSTALLABLE if name not in listed.out] == []
    assert "mesocosm guests install NAME" in listed.out


def test_check_tells_a_framework_that_does_not_start() -> None:
    checked = invoke("guests", "check", "skyrl", "--python", "/bin/true")
    assert checked.code == 1


def test_check_tells_what_openenv_lacks() -> None:
    checked = invoke("guests", "check", "openenv", "--python", "/bin/true")
    assert [checked.code, checked.out] == [1, "openenv: /bin/true lacks openenv, uvicorn, yaml\n"]
