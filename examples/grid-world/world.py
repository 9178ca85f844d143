"""Mazes with a locked door, a key, lava and a goal: how they are made, and the shortest way through."""

import random
from collections import deque
from dataclasses import dataclass, replace

Place = tuple[int, int]  # column, row; the upper left corner is (0, 0)

WALL, FLOOR, LAVA, KEY, DOOR, GOAL = "#", ".", "~", "k", "D", "G"
MOVES = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
LAVAS = 4
OPENED = 0.3  # share of the walls between two corridors that is taken away, so that there is more than one way
SHORTEST, LONGEST = 12, 36  # moves that the best way may take


@dataclass(frozen=True)
class World:
    """One maze, as it is before anybody moves."""

    width: int
    height: int
    floor: frozenset[Place]  # every place that is no wall
    lava: frozenset[Place]
    start: Place
    key: Place
    door: Place
    goal: Place

    def cell(self, place: Place) -> str:
        """Return the sign of what is at a place."""
        if place not in self.floor:
            return WALL
        if place in self.lava:
            return LAVA
        return {self.key: KEY, self.door: DOOR, self.goal: GOAL}.get(place, FLOOR)


def moved(place: Place, move: str) -> Place:
    """Return the place that a move leads to."""
    across, down = MOVES[move]
    return place[0] + across, place[1] + down


def route(world: World, place: Place, *, has_key: bool) -> list[str] | None:
    """Return the fewest moves from a place to the goal, found breadth first; None if there is no way."""
    start = (place, has_key or place == world.key)
    came: dict[tuple[Place, bool], tuple[tuple[Place, bool], str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here[0] == world.goal:
            moves = []
            while step := came[here]:
                here, move = step
                moves.append(move)
            return moves[::-1]
        for move in MOVES:
            there = moved(here[0], move)
            state = (there, here[1] or there == world.key)
            locked = there == world.door and not here[1]
            if there in world.floor and there not in world.lava and not locked and state not in came:
                came[state] = here, move
                waiting.append(state)
    return None


def generate(rng: random.Random, width: int = 13, height: int = 9) -> World:
    """Return a maze of odd `width` and `height` that can be solved, and only through the door."""
    while True:
        world = draft(rng, width, height)
        way = route(world, world.start, has_key=False)
        bricked_up = replace(world, floor=world.floor - {world.door})
        if way and SHORTEST <= len(way) <= LONGEST and not route(bricked_up, world.start, has_key=True):
            return world


def draft(rng: random.Random, width: int, height: int) -> World:
    """Return a maze with everything put somewhere, whether or not it can be solved."""
    floor = carve(rng, width, height)
    narrow = [place for place in sorted(floor) if is_passage(floor, place)]
    door = rng.choice(narrow)
    start, key, goal, *lava = rng.sample(sorted(floor - {door}), 3 + LAVAS)
    return World(width, height, frozenset(floor), frozenset(lava), start, key, door, goal)


def carve(rng: random.Random, width: int, height: int) -> set[Place]:
    """Return the floor of a maze: corridors dug depth first, then some walls between them opened."""
    first = (1, 1)
    floor, path = {first}, [first]
    while path:
        x, y = path[-1]
        ahead = [
            (x + 2 * across, y + 2 * down)
            for across, down in MOVES.values()
            if 0 < x + 2 * across < width and 0 < y + 2 * down < height
        ]
        if fresh := [place for place in ahead if place not in floor]:
            there = rng.choice(fresh)
            floor |= {there, ((x + there[0]) // 2, (y + there[1]) // 2)}
            path.append(there)
        else:
            path.pop()
    between = [(x, y) for x in range(1, width - 1) for y in range(1, height - 1) if (x + y) % 2]
    return floor | {place for place in between if rng.random() < OPENED}


def is_passage(floor: set[Place], place: Place) -> bool:
    """Tell whether a place has floor on two opposite sides and wall on the two others, as a door needs."""
    open_sides = {move for move in MOVES if moved(place, move) in floor}
    return open_sides in ({"left", "right"}, {"up", "down"})
