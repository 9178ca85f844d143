"""The rules of the word game."""

from typing import Any

import pytest

from env import GUESSES, TURNS, WORDS, WordGame, marks


def game(secret: str) -> WordGame:
    env = WordGame()
    env.reset(seed=0)
    env.secret = secret
    return env


def test_the_list_holds_distinct_five_letter_words() -> None:
    assert len(WORDS) == len(set(WORDS)) > 600
    assert all(len(word) == 5 and word.isascii() and word.islower() for word in WORDS)


@pytest.mark.parametrize(
    ("guess", "secret", "row"),
    [
        ("slate", "slate", "🟩🟩🟩🟩🟩"),
        ("crumb", "slate", "⬛⬛⬛⬛⬛"),
        ("tales", "slate", "🟨🟨🟨🟨🟨"),
        ("geese", "eagle", "🟨🟨⬛⬛🟩"),
        ("speed", "erase", "🟨⬛🟨🟨⬛"),
        ("allow", "loyal", "🟨🟨🟨🟨⬛"),
        ("llama", "loyal", "🟩🟨🟨⬛⬛"),
        ("eerie", "there", "🟨⬛🟨⬛🟩"),
    ],
)
def test_a_letter_is_marked_as_often_as_the_secret_has_it(guess: str, secret: str, row: str) -> None:
    assert marks(guess, secret) == row


@pytest.mark.parametrize(
    ("reply", "guess"),
    [
        ("slate", "slate"),
        ("Slate.", "slate"),
        ("CRANE is out, so SLATE is my guess", "slate"),
        ("Guess: slate\nThat tests three vowels.", "slate"),
        ("I think of crane, but my answer is **slate**!", "slate"),
        ("Let us try 'slate' after crane", "slate"),
        ('{"guess": "slate"}', "slate"),
        ({"guess": "slate"}, "slate"),
        ("no", ""),
        (None, ""),
    ],
)
def test_the_guess_is_found_in_a_reply(reply: Any, guess: str) -> None:
    env = WordGame()
    assert env.parse_action(reply) == guess
    assert env.parse_action(guess) == guess


def test_a_solved_game_ends_with_a_reward_for_the_guesses_left() -> None:
    env = game("slate")
    env.step("crane")
    result = env.step("slate")
    assert (result.terminated, result.truncated) == (True, False)
    assert result.reward == pytest.approx(5 / 6)
    assert result.info == {"solved": True, "guesses": 2, "secret": "slate"}


def test_six_wrong_guesses_lose_and_show_the_word() -> None:
    env = game("slate")
    for _ in range(GUESSES):
        result = env.step("crumb")
    assert (result.terminated, result.reward) == (True, 0.0)
    assert result.info == {"solved": False, "guesses": 7, "secret": "slate"}
    assert "SLATE" in result.observation["message"]


def test_a_refused_word_costs_a_turn_but_no_guess() -> None:
    result = game("slate").step("zzzzz")
    assert result.observation["guesses_left"] == GUESSES
    assert result.observation["turns_left"] == TURNS - 1
    assert "ZZZZZ is not in the word list" in result.observation["message"]


def test_the_game_is_cut_off_when_the_turns_are_used_up() -> None:
    env = game("slate")
    results = [env.step("") for _ in range(TURNS)]
    assert [result.truncated for result in results] == [False] * (TURNS - 1) + [True]


def test_the_letters_sum_up_the_board() -> None:
    letters = game("slate").step("leash").observation["letters"]
    assert letters == {"known": "__a__", "inside": "aels", "outside": "h"}


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ({"tool": "find_words", "arguments": {"pattern": "sla.e"}}, "sla.e fits: slate"),
        ({"name": "find_words", "arguments": "s..te"}, "skate"),
        ('I look it up: {"tool": "find_words", "arguments": {"pattern": "....."}}', "and"),
        ({"tool": "find_words", "arguments": {"pattern": "qqqqq"}}, "no word"),
        ({"tool": "find_words", "arguments": {"pattern": "(a+)+"}}, "takes a pattern"),
        ({"tool": "shell"}, "only tool"),
    ],
)
def test_the_tool_finds_words_by_pattern(call: Any, answer: str) -> None:
    env = game("slate")
    result = env.step(env.parse_action(call))
    assert answer in result.observation["message"]
    assert result.observation["guesses_left"] == GUESSES


def test_the_oracle_solves_nearly_every_game_without_peeking() -> None:
    solved = 0
    for seed in range(60):
        env = WordGame()
        env.reset(seed)
        while not (result := env.step(env.oracle())).terminated:
            pass
        solved += result.info["solved"]
    assert solved >= 58
