"""The rules of the grid world."""

import base64
import random
import struct
import zlib
from dataclasses import replace
from typing import Any

import pytest

from env import MAX_STEPS, GridWorld, PictureWorld
from picture import COLOURS, SPRITES, draw
from world import MOVES, World, generate, route

OPEN = """
#######
#@.k#.#
#.~.DG#
#######
"""
BLOCKED = """
#######
#@k~#.#
#.~.DG#
#######
"""


def world(text: str = OPEN) -> World:
    rows = text.split()
    places = {(x, y): sign for y, row in enumerate(rows) for x, sign in enumerate(row)}
    at = {sign: place for place, sign in places.items()}
    floor = frozenset(place for place, sign in places.items() if sign != "#")
    lava = frozenset(place for place, sign in places.items() if sign == "~")
    return World(len(rows[0]), len(rows), floor, lava, at["@"], at["k"], at["D"], at["G"])


def grid() -> GridWorld:
    env = GridWorld()
    env.reset(seed=0)
    env.world = world()
    env.place = env.world.start
    return env


def walk(env: GridWorld, moves: str) -> list[Any]:
    return [env.step(move) for move in moves.split()]


def test_every_maze_can_be_solved_and_only_through_the_door() -> None:
    for seed in range(100):
        maze = generate(random.Random(seed))
        assert route(maze, maze.start, has_key=False)
        assert not route(replace(maze, floor=maze.floor - {maze.door}), maze.start, has_key=True)


def test_the_shortest_way_fetches_the_key_and_avoids_the_lava() -> None:
    assert route(world(), (1, 1), has_key=False) == ["right", "right", "down", "right", "right"]
    assert route(world(BLOCKED), (1, 1), has_key=False) is None


def test_the_oracle_takes_the_shortest_way() -> None:
    env = GridWorld()
    for seed in range(30):
        env.reset(seed)
        while not (result := env.step(env.oracle())).terminated:
            pass
        assert result.info["reached_goal"]
        assert result.info["efficiency"] == 1.0


def test_the_flag_ends_the_episode_with_a_reward() -> None:
    results = walk(grid(), "right right down right right")
    assert [result.reward for result in results] == [-0.01, 0.2, -0.01, -0.01, 1.0]
    assert [result.terminated for result in results] == [False] * 4 + [True]


def test_lava_ends_the_episode() -> None:
    result = walk(grid(), "down right")[-1]
    assert (result.terminated, result.reward, result.info["reached_goal"]) == (True, -1.0, False)


def test_walls_and_the_locked_door_are_in_the_way() -> None:
    env = grid()
    assert "wall" in walk(env, "up")[0].observation
    assert env.place == (1, 1)
    env.place = (3, 2)
    assert "locked" in walk(env, "right")[0].observation
    assert env.place == (3, 2)


def test_the_episode_is_cut_off_after_its_steps() -> None:
    results = walk(grid(), "up " * MAX_STEPS)
    assert [result.truncated for result in results] == [False] * (MAX_STEPS - 1) + [True]


def test_the_text_shows_the_maze_and_what_is_carried() -> None:
    env = grid()
    assert env.step("right").observation.split("\n\n") == [
        "#######\n#.@k#.#\n#.~.DG#\n#######",
        "You carry nothing. Steps left: 59.",
    ]
    assert env.step("right").observation.split("\n\n") == [
        "#######\n#..@#.#\n#.~.DG#\n#######",
        "You carry the key. Steps left: 58. You take the key.",
    ]


@pytest.mark.parametrize(
    ("reply", "move"),
    [
        ("up", "up"),
        ("LEFT.", "left"),
        ("Not up; I go down", "down"),
        ("upper", ""),
        ({"move": "right"}, "right"),
        (None, ""),
    ],
)
def test_the_last_move_of_a_reply_counts(reply: Any, move: str) -> None:
    assert GridWorld().parse_action(reply) == move


def test_a_reply_without_a_move_costs_a_step() -> None:
    result = grid().step("")
    assert "Choose one of up, down, left, right" in result.observation
    assert result.info["steps"] == 1


def pixels(png: bytes) -> list[bytes]:
    """Read back what `draw` wrote, and check it on the way."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, rest = {}, png[8:]
    while rest:
        (length,) = struct.unpack(">I", rest[:4])
        name, body = rest[4:8], rest[8 : 8 + length]
        assert struct.unpack(">I", rest[8 + length : 12 + length]) == (zlib.crc32(name + body),)
        chunks[name], rest = body, rest[12 + length :]
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    lines = zlib.decompress(chunks[b"IDAT"])
    assert len(lines) == height * (width + 1)
    return [lines[start + 1 : start + 1 + width] for start in range(0, len(lines), width + 1)]


def test_a_picture_shows_every_sign_by_its_sprite() -> None:
    lines = pixels(draw(["".join(SPRITES)]))
    assert (len(lines[0]), len(lines)) == (len(SPRITES) * 32, 32)
    signs = list(COLOURS)
    for number, sprite in enumerate(SPRITES.values()):
        seen = [[signs[line[number * 32 + x]] for x in range(0, 32, 4)] for line in lines[::4]]
        assert ["".join(row) for row in seen] == sprite.split()


@pytest.mark.parametrize("env", [PictureWorld(), GridWorld()])
def test_the_view_is_chosen_by_class_or_by_scenario(env: GridWorld) -> None:
    first = env.reset(seed=1, view="image") if type(env) is GridWorld else env.reset(seed=1)
    assert first["content_type"] == "image/png"
    assert len(pixels(base64.b64decode(first["data"]))) == 9 * 32
    result = env.step(env.oracle())
    assert result.content_type == "image/png"
    assert result.observation != first["data"]


def test_the_picture_shows_that_the_key_is_carried() -> None:
    env = PictureWorld()
    env.reset(seed=1)
    before = env.step("").observation
    env.has_key = True
    assert env.step("").observation != before


def test_the_moves_are_those_of_the_manifest() -> None:
    assert list(MOVES) == ["up", "down", "left", "right"]
