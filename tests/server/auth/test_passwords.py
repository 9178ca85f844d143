"""Which passwords and names may be chosen, and how passwords are kept."""

import pytest

from mesocosm.server.auth import passwords
from mesocosm.server.auth.accounts import checked_name
from mesocosm.server.auth.passwords import Passwords, check_choice, generated
from mesocosm.server.refusal import Refusal


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Passwords:
    for name, cost in {"MEMORY_KIB": 8, "PASSES": 1, "LANES": 1}.items():
        monkeypatch.setattr(passwords, name, cost)
    return Passwords()


@pytest.mark.parametrize(
    "password",
    [
        "short12",
        "x" * 257,
        "password",
        "PassWord123",
        "Sunshine2026!",
        "qwertyuiop",
        "aaaaaaaaaaaa",
        "abababababab",
        "lovelace12",
        "lovelacelovelace",
        "Lovelace-LOVELACE!",
        "ecalevol",
        "lovelaceecalevol99",
    ],
)
def test_a_password_that_is_easy_to_guess_cannot_be_chosen(password: str) -> None:
    with pytest.raises(Refusal) as caught:
        check_choice(password, "lovelace")
    assert caught.value.status == 422


@pytest.mark.parametrize("password", ["tr0ub4dor&3", "correct horse battery staple", "пароль-слово", "x1y2z3" * 40])
def test_other_passwords_may_be_chosen(password: str) -> None:
    check_choice(password, "lovelace")


@pytest.mark.parametrize(
    ("password", "name"),
    [
        ("adalovelace", "ada.lovelace"),
        ("ada.l12ada.l", "ada.l@example.org"),
        ("bo12bo12", "bo12"),
    ],
)
def test_a_name_is_not_its_own_password_however_often_it_is_in_it(password: str, name: str) -> None:
    with pytest.raises(Refusal, match="little more than the user name"):
        check_choice(password, name)


@pytest.mark.parametrize("name", ["ada", "Ada.Lovelace", "a@b.example", "a+b", "0", "x" * 64])
def test_names_of_older_servers_may_be_kept(name: str) -> None:
    assert checked_name(f" {name} ") == name


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "../x", "a/b", "x" * 65, "\u0430da", "a\0", "ada\n!", "<b>"])
def test_names_that_could_be_taken_for_others_cannot(name: str) -> None:
    with pytest.raises(Refusal):
        checked_name(name)


def test_passwords_that_are_made_up_differ_and_may_be_chosen() -> None:
    made = {generated() for _ in range(100)}
    assert len(made) == 100
    for password in made:
        check_choice(password, "admin")


def test_a_password_is_kept_as_argon2id_with_a_salt(kept: Passwords) -> None:
    hashes = {kept.hash("correct horse") for _ in range(2)}
    assert len(hashes) == 2
    assert all(text.startswith("$argon2id$") for text in hashes)


def test_what_a_hash_costs_is_what_rfc_9106_recommends() -> None:
    assert "m=65536,t=3,p=4" in Passwords().hash("correct horse")


def test_only_the_password_itself_is_right(kept: Passwords) -> None:
    text = kept.hash("correct horse")
    assert kept.right("correct horse", text)
    assert not any(kept.right(other, text) for other in ("Correct horse", "correct horse ", "", "x" * 10_000))


def test_where_no_password_is_kept_none_is_right(kept: Passwords) -> None:
    assert not kept.right("", "")
    assert not kept.right(kept._dummy_hash, "")


def test_a_hash_of_another_scheme_lets_nobody_in(kept: Passwords) -> None:
    with pytest.raises(Exception, match="hash"):
        kept.right("x", "pbkdf2_sha256$x$y")


def test_when_too_many_are_hashed_the_next_is_refused_and_later_not(kept: Passwords) -> None:
    for _ in range(passwords.IN_ALL):
        kept._waiting.acquire()
    with pytest.raises(Refusal) as caught:
        kept.hash("correct horse")
    assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "1")
    kept._waiting.release()
    assert kept.hash("correct horse")
