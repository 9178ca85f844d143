"""Settings of a platform: what is wrong is told with its place."""

from dataclasses import replace
from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.server.settings import read_settings


def _file(folder: Path, text: str) -> Path:
    place = folder / "platform.toml"
    place.write_text(text, "utf-8")
    return place


def test_a_key_of_the_file_that_nothing_reads_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"team_sizes: is not a setting\n.*did you mean 'team_size'"):
        read_settings(_file(tmp_path, "team_sizes = 6\n"))


def test_an_older_variable_as_a_key_of_the_file_is_told_its_name_of_today(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="did you mean 'max_steps'"):
        read_settings(_file(tmp_path, "orch_max_steps_per_episode = 6\n"))


def test_a_setting_below_a_model_is_told_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"models\.0\.team_size: .*\n.*before the first \[\[models\]\]"):
        read_settings(_file(tmp_path, '[[models]]\nname = "x/y"\nteam_size = 3\n'))


def test_a_wrong_key_of_a_model_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"models\.0\.keey: .*\n.*did you mean 'key'"):
        read_settings(_file(tmp_path, '[[models]]\nname = "x/y"\nkeey = "A"\n'))


def test_a_file_that_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"platform\.toml cannot be read: .*line 1"):
        read_settings(_file(tmp_path, "port = \n"))


def test_a_variable_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESOCOSM_MODELS", "gpt")
    with pytest.raises(UsageError, match="the variable MESOCOSM_MODELS cannot be read: its value must be JSON"):
        read_settings()


def test_wrong_values_are_told_under_the_flag_or_variable_that_gave_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCH_MAX_STEPS_PER_EPISODE", "many")
    monkeypatch.setenv("MESOCOSM_TEAM_SIZE", "0")
    with pytest.raises(InvalidInput) as raised:
        read_settings(port=-1)
    assert {problem.path for problem in raised.value.problems} == {
        "--port",
        "ORCH_MAX_STEPS_PER_EPISODE",
        "MESOCOSM_TEAM_SIZE",
    }


def test_a_variable_that_is_nearly_a_setting_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MESOCOSM_TEAM_SIZES", "6")
    monkeypatch.setenv("MESOCOSM_BASE_URL", "http://127.0.0.1:1")
    read_settings()
    assert [record.getMessage() for record in caplog.records] == [
        "the variable MESOCOSM_TEAM_SIZES is unknown; did you mean MESOCOSM_TEAM_SIZE?"
    ]


@pytest.mark.parametrize("word", ["none", "None", ""])
def test_what_may_be_absent_is_switched_off_by_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("MESOCOSM_GUEST_BUDGET_USD", word)
    settings = read_settings(_file(tmp_path, f'login_port = "{word}"\n'))
    assert settings.login_port is None
    assert settings.guest_budget_usd is None


@pytest.mark.parametrize(
    "address", ["nonsense", "bench.example.org", "https://", "ftp://x", "https://a b", "http://[x"]
)
def test_a_public_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match=r"--public-url: is not an address such as https://"):
        read_settings(public_url=address)


def test_a_public_address_may_have_a_path() -> None:
    assert read_settings(public_url="https://bench.example.org/bench/").public_url == "https://bench.example.org/bench/"


@pytest.mark.parametrize("path", ["a b", "https://x", "/a?b"])
def test_a_prefix_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="--prefix: is not a path such as /bench"):
        read_settings(prefix=path)


def test_a_key_in_the_place_of_its_variable_is_refused_and_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"models\.0\.key: must be the name of the variable") as raised:
        read_settings(_file(tmp_path, '[[models]]\nname = "openai/x"\nkey = "sk-abc-123"\n'))
    assert "sk-abc" not in str(raised.value)


def test_limits_are_strict_for_guests_and_where_anyone_may_sign_up_and_only_there() -> None:
    private, public = read_settings(), read_settings(sign_up=True)
    member, guest = private.quota(guest=False), private.quota(guest=True)
    assert (member.episodes, member.episode_tokens, member.cooldown_s) == (10_000, 1_000_000, 0)
    assert (member.per_day, member.waiting) == (10_000, 200)
    assert (guest.episodes, guest.episode_tokens, guest.cooldown_s, guest.per_day) == (20, 100_000, 120, 5)
    assert public.quota(guest=False) == replace(public.quota(guest=True), per_day=200)


def test_a_limit_that_is_set_counts_for_everybody() -> None:
    settings = read_settings(cooldown_s=7.0, max_episodes_per_run=30)
    for guest in (False, True):
        assert (settings.quota(guest=guest).cooldown_s, settings.quota(guest=guest).episodes) == (7.0, 30)
