"""Alignments of sequences, and what sets two episodes apart first."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.engine.comparison import episodes
from mesocosm.engine.comparison.alignment import Pairs, align, common_prefix
from mesocosm.engine.comparison.episodes import EpisodePair, Moves, PairFinding, compare_episodes, read_moves

Played = Sequence[tuple[Any, Any]]
"""The actions of an episode, each with what was seen after it."""


def changes(pairs: Pairs, a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return how many items an alignment replaces, leaves out or adds."""
    return sum(i is None or j is None or a[i] != b[j] for i, j in pairs)


def fewest(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return the edit distance, by the table of Wagner and Fischer."""
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (one != other))
    return row[-1]


def test_alignments_are_complete_cheapest_and_the_same_from_both_sides() -> None:
    dice = random.Random(1)
    for _ in range(500):
        letters = "abcdef"[: dice.choice([2, 3, 6])]
        a, b = ([dice.choice(letters) for _ in range(dice.randrange(12))] for _ in range(2))
        pairs = align(a, b)
        assert [i for i, _ in pairs if i is not None] == list(range(len(a)))
        assert [j for _, j in pairs if j is not None] == list(range(len(b)))
        assert changes(pairs, a, b) == fewest(a, b), (a, b)
        assert [(j, i) for i, j in align(b, a)] == pairs
        assert common_prefix(a, b) == common_prefix(b, a)


def test_the_same_sequence_is_aligned_with_itself() -> None:
    assert align("words", "words") == [(place, place) for place in range(5)]
    assert align("", "") == []


def test_an_inserted_step_moves_the_rest_along() -> None:
    assert align("xyz", "xwyz") == [(0, 0), (None, 1), (1, 2), (2, 3)]


def test_of_equally_cheap_alignments_the_one_that_finds_more_again_is_taken() -> None:
    for one, other in (("2", "4"), ("4", "2")):
        assert align([one, "3"], ["3", other]) == [(0, None), (1, 0), (None, 1)]


def test_a_chance_match_far_away_does_not_tear_the_rest_apart() -> None:
    a, b = (
        ["sate", "ate", "ate", "ozone", "koala", "sate", "board", "boast"],
        ["b", "alike", "x", "carry", "grape", "sate", "shaft", "er", "ate", "toast", "z", "r"],
    )
    assert align(a, b) == [*((place, place) for place in range(8)), *((None, place) for place in range(8, 12))]


def test_thousands_of_steps_are_aligned_exactly() -> None:
    dice = random.Random(2)
    a = [dice.randrange(9) for _ in range(3_000)]
    b = a[:1_000] + a[1_003:2_000] + [7, 8] + a[2_000:]
    assert changes(align(a, b), a, b) <= 5


def events(played: Played, first: Any = "go", rewards: Sequence[float] = ()) -> list[Event]:
    """Return the events of an episode of an environment."""
    found = [(0, Kind.EPISODE_START, {}), (0, Kind.OBSERVATION, {"data": first})]
    for step, (action, seen) in enumerate(played, 1):
        reward = rewards[step - 1] if rewards else 0.0
        found += [
            (step, Kind.MODEL_CALL, {"text": str(action)}),
            (step, Kind.ACTION, {"action": action}),
            (step, Kind.STEP_RESULT, {"reward": reward, "terminated": step == len(played)}),
            (step, Kind.OBSERVATION, {"data": seen}),
        ]
    return [Event(seq, step, 0.0, kind, payload) for seq, (step, kind, payload) in enumerate(found)]


def compared(a: list[Event], b: list[Event], **other: Any) -> EpisodePair:
    """Return two episodes of a task aligned."""
    one = Episode("a", "run", "task", "seed-1", seed=1)
    two = Episode("b", "run", **{"task_digest": "task", "task_id": "seed-1", "seed": 1, **other})
    found, swapped = (
        compare_episodes(one, read_moves(a), two, read_moves(b)),
        compare_episodes(two, read_moves(b), one, read_moves(a)),
    )
    assert (found.finding, found.first) == (swapped.finding, swapped.first)
    return found


WALK = [("up", 1), ("up", 2), ("left", 3)]


def test_the_same_episode_never_differs() -> None:
    found = compared(events(WALK), events(WALK))
    assert (found.finding, found.first) == (PairFinding.SAME, None)
    assert [step.change for step in found.steps] == ["same"] * 4


def test_the_first_other_action_is_found_and_the_rest_aligned() -> None:
    found = compared(events(WALK), events([("up", 1), ("down", 0), ("up", 1), ("up", 2), ("left", 3)]))
    assert (found.finding, found.first) == (PairFinding.ACTION, 2)
    assert [step.change for step in found.steps] == ["same", "same", "only_b", "only_b", "same", "same"]


def test_the_environment_is_named_where_it_answers_the_same_action_otherwise() -> None:
    found = compared(events(WALK), events([("up", 1), ("up", 9), ("down", 3)]))
    assert (found.finding, found.first) == (PairFinding.ENVIRONMENT, 2)
    assert "not deterministic" in found.words
    assert "seeds differ" in compared(events(WALK), events([("up", 9), *WALK[1:]]), seed=2).words


def test_another_reward_for_the_same_action_is_a_difference_of_the_environment() -> None:
    found = compared(events(WALK, rewards=[0, 0, 1]), events(WALK, rewards=[0, 0, 0.5]))
    assert (found.finding, found.first) == (PairFinding.ENVIRONMENT, 3)


def test_what_was_shown_first_is_step_0() -> None:
    found = compared(events(WALK, first="maze"), events(WALK, first="other maze"))
    assert (found.finding, found.first) == (PairFinding.ENVIRONMENT, 0)


def test_an_episode_that_goes_on_differs_where_the_other_ended() -> None:
    going = events([*WALK, ("left", 4), ("left", 5)])
    ended = [event for event in events(WALK) if event.payload.get("terminated") is not True]
    found = compared([*ended], [event for event in going if event.kind is not Kind.STEP_RESULT or event.step != 3])
    assert (found.finding, found.first) == (PairFinding.ENDED, 4)
    assert found.words == "The same until A ended; B went on for 2 steps."


def test_a_failure_is_not_another_action() -> None:
    failed = [event for event in events(WALK) if event.step < 2]
    failed.append(Event(len(failed), 2, 0.0, Kind.ERROR, {"cause": "model_unreachable", "message": "gone"}))
    found = compared(events(WALK), failed)
    assert (found.finding, found.first) == (PairFinding.FAILURE, 2)
    assert "B failed (model_unreachable)" in found.words


def test_episodes_of_other_tasks_are_not_aligned() -> None:
    found = compared(events(WALK), events(WALK), task_digest="other", task_id="seed-2")
    assert (found.finding, found.steps) == (PairFinding.OTHER_TASK, ())
    assert "Task seed-1 has another content" in compared(events(WALK), events(WALK), task_digest="other").words


def test_ids_of_tool_calls_and_the_order_of_arguments_are_no_difference() -> None:
    def called(made_up: str, arguments: dict[str, Any]) -> list[Event]:
        call = {"name": "look", "arguments": arguments, "id": made_up}
        reply = {"role": "tool", "content": "3", "tool_call_id": made_up}
        return events([({"text": "", "tool_calls": [call]}, {"messages": [reply]}), ("A: 3", None)])

    found = compared(called("call-1", {"x": 1, "y": 2}), called("call-2", {"y": 2, "x": 1}))
    assert found.finding is PairFinding.SAME
    assert found.steps[1].a is not None
    assert found.steps[1].a.action == "look(x=1, y=2)"


def program(*replies: str, tool: str = "3") -> list[Event]:
    """Return the events of a rollout, whose calls of its model are its steps; the last one is a judge's."""
    found: list[tuple[int, Kind, Any]] = [(0, Kind.EPISODE_START, {}), (0, Kind.OBSERVATION, {"data": "1 + 2"})]
    for reply in replies:
        found += [(1, Kind.MODEL_CALL, {"text": reply}), (1, Kind.MESSAGE, {"role": "tool", "content": tool})]
    found += [(1, Kind.MODEL_CALL, {"text": "yes", "role": "judge"}), (1, Kind.STEP_RESULT, {"reward": 1.0})]
    return [Event(seq, step, 0.0, kind, payload) for seq, (step, kind, payload) in enumerate(found)]


def test_a_program_without_actions_is_compared_by_its_calls() -> None:
    found = compared(program("look", "say 3"), program("look", "say 4"))
    assert (found.a.by, found.finding, found.first) == ("call", PairFinding.ACTION, 2)
    assert found.words.startswith("Call 2: ")
    assert [step.a.action for step in found.steps if step.a] == ["", "look", "say 3"]


def test_a_tool_that_returns_something_else_is_not_the_agent() -> None:
    found = compared(program("look", "say"), program("look", "say", tool="4"))
    assert (found.finding, found.first) == (PairFinding.ENVIRONMENT, 1)


def test_of_few_possible_actions_chance_matches_are_no_alignment() -> None:
    a = events([(move, place) for place, move in enumerate("udlrudlr")])
    b = events([(move, -place) for place, move in enumerate("lludrrrdluudrruldlrd")])
    steps = compared(a, b).steps
    assert [(step.a is None, step.b is None) for step in steps] == [(False, False)] * 9 + [(True, False)] * 12


def test_a_call_that_is_written_as_json_is_told_as_a_call() -> None:
    moves = read_moves(events([('{"tool": "find", "arguments": {"pattern": "s..te"}}', ""), ("{broken", "")]))
    assert [move.action for move in moves.steps] == ["", 'find(pattern="s..te")', "{broken"]


def test_repeated_actions_and_those_that_changed_nothing_are_counted() -> None:
    moves = read_moves(events([("up", "go"), ("up", "go"), ("down", "there")]))
    assert (moves.repeated, moves.in_vain) == (1, 2)


def test_of_a_very_long_episode_only_the_beginning_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "MOST_STEPS", 2)
    moves: Moves = read_moves(events(WALK))
    assert ([move.number for move in moves.steps], moves.whole) == ([0, 1, 2], False)
