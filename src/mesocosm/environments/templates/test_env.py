"""Tests of the environment, without a server: python -m pytest"""

from env import GUESSES, HIGHEST, LOWEST, MyEnv


def play(seed, policy):
    """Play one episode and return the last result."""
    env = MyEnv()
    env.reset(seed=seed)
    while True:
        result = env.step(env.parse_action(policy(env)))
        if result.terminated or result.truncated:
            return result


def test_equal_seeds_give_equal_episodes():
    first, second = MyEnv(), MyEnv()
    assert first.reset(seed=7) == second.reset(seed=7)
    assert first.secret == second.secret


def test_the_oracle_always_finds_the_number():
    assert all(play(seed, MyEnv.oracle).reward == 1.0 for seed in range(100))


def test_an_answer_without_a_number_wins_nothing_and_ends():
    result = play(0, lambda env: "no idea")
    assert result.reward == 0.0
    assert result.info["guesses"] == GUESSES


def test_the_secret_stays_hidden():
    env = MyEnv()
    shown = env.reset(seed=3)
    assert (shown["low"], shown["high"]) == (LOWEST, HIGHEST)
    assert "secret" not in shown
