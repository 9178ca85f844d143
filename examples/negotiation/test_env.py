"""The rules of the negotiation."""

import json
from typing import Any

import pytest

from env import LONGEST_MESSAGE, TURNS, Negotiation, Side

ACCEPT = {"move": "accept"}


def talks() -> Negotiation:
    """Return talks in which slow delivery with a long warranty gains most: 60, against 50 for the bare item."""
    env = Negotiation()
    env.reset(seed=0)
    env.buyer = Side(100, {"slow": 0, "standard": 5, "express": 10}, {"none": 0, "one_year": 10, "three_years": 30})
    env.seller = Side(50, {"slow": 0, "standard": 10, "express": 30}, {"none": 0, "one_year": 10, "three_years": 20})
    return env


def offer(price: Any, delivery: str = "slow", warranty: str = "three_years", **more: Any) -> dict[str, Any]:
    return {"move": "offer", "price": price, "delivery": delivery, "warranty": warranty, **more}


def test_a_deal_on_the_best_options_shares_all_there_is_to_gain() -> None:
    env = talks()
    env.step(offer(90))
    result = env.step(ACCEPT)
    assert (result.terminated, result.reward) == (True, 1.0)
    assert result.info["deal"] is True
    assert (result.info["buyer_gain"], result.info["seller_gain"]) == (40, 20)


def test_other_options_gain_less() -> None:
    env = talks()
    env.step(offer(90, "express", "none"))
    assert env.step(ACCEPT).reward == pytest.approx((110 - 80) / 60)


def test_each_offer_after_the_first_takes_five_percent() -> None:
    env = talks()
    env.step(offer(90))
    env.step(offer(110))
    env.step(offer(100))
    assert env.step(ACCEPT).reward == pytest.approx(0.95**2)


@pytest.mark.parametrize("price", [20, 135])
def test_a_deal_by_which_one_side_loses_is_void(price: float) -> None:
    env = talks()
    env.step(offer(price))
    result = env.step(ACCEPT)
    assert (result.terminated, result.reward, result.info["deal"]) == (True, 0.0, False)
    assert "void" in result.observation["message"]


def test_nobody_can_accept_an_offer_of_their_own() -> None:
    env = talks()
    env.step(offer(90))
    env.step({"move": "dance"})
    result = env.step(ACCEPT)
    assert (result.terminated, result.observation["message"]) == (False, "The buyer makes no valid move.")


def test_a_rejected_offer_is_off_the_table() -> None:
    env = talks()
    env.step(offer(90))
    assert env.step({"move": "reject"}).observation["offer_on_the_table"] is None
    assert not env.step(ACCEPT).terminated


@pytest.mark.parametrize(
    "action",
    [
        {},
        ACCEPT,
        offer(-1),
        offer(251),
        offer("nan"),
        offer(None),
        offer(90, "teleport"),
        offer(90, warranty="forever"),
        {"move": ["offer"]},
    ],
)
def test_an_impossible_move_passes_the_turn(action: dict[str, Any]) -> None:
    result = talks().step(action)
    assert not result.terminated
    assert result.observation["offer_on_the_table"] is None
    assert result.info["active_role"] == "seller"


def test_talks_end_without_a_deal_when_the_turns_are_used_up() -> None:
    env = talks()
    results = [env.step(offer(90)) for _ in range(TURNS)]
    assert [result.terminated for result in results] == [False] * (TURNS - 1) + [True]
    assert results[-1].info["deal"] is False
    assert "Time is up" in results[-1].observation["message"]


def test_each_side_sees_only_its_own_figures() -> None:
    env = talks()
    first = env.step(offer(90, message="Shall we?")).observation
    second = env.step(offer(100)).observation
    assert (first["active_role"], second["active_role"]) == ("seller", "buyer")
    assert first["cost_to_you"]["item"] == 50
    assert "worth_to_you" not in first
    assert second["worth_to_you"]["item"] == 100
    assert "cost_to_you" not in second
    assert first["offer_on_the_table"] == {
        "from": "buyer",
        "price": 90.0,
        "delivery": "slow",
        "warranty": "three_years",
        "your_gain": 20.0,
    }
    assert first["talk"] == ["The buyer offers 90.00, slow delivery, warranty three years. “Shall we?”"]


def test_long_messages_are_cut() -> None:
    talk = talks().step({"move": "reject", "message": "a" * 10_000}).observation["talk"]
    assert talk[0].count("a") <= LONGEST_MESSAGE + 10


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        ({"move": "accept"}, "accept"),
        ('I take it. {"move": "accept"} Thanks!', "accept"),
        ("I take it.", ""),
        ('{"move": ', ""),
        (["accept"], ""),
        (None, ""),
    ],
)
def test_a_reply_may_be_an_object_or_contain_one(reply: Any, move: str) -> None:
    env = Negotiation()
    assert env.parse_action(reply)["move"] == move
    assert env.parse_action(env.parse_action(reply)) == env.parse_action(reply)


def test_the_oracle_gains_all_that_is_possible_in_two_turns() -> None:
    for seed in range(100):
        env = Negotiation()
        env.reset(seed)
        assert not env.step(env.oracle()).terminated
        result = env.step(env.oracle())
        assert result.reward == 1.0
        assert result.info["buyer_gain"] == result.info["seller_gain"] > 0


def test_the_figures_depend_on_the_seed_only() -> None:
    env = Negotiation()
    shown = [json.dumps(env.reset(seed)) for seed in (1, 2, 1)]
    assert shown[0] == shown[2] != shown[1]
