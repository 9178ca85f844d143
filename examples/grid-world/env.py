"""A grid world: take the key, open the door, keep off the lava, reach the flag."""

import base64
import random
import re
from typing import Any

from mesocosm.environments import BaseEnv, StepResult

from picture import draw
from world import DOOR, FLOOR, GOAL, KEY, LAVA, MOVES, WALL, generate, moved, route

MAX_STEPS = 60
STEP_COST = -0.01
ENTERED = {LAVA: (-1.0, "You fell into the lava."), GOAL: (1.0, "You reached the flag.")}


class GridWorld(BaseEnv):
    """One maze. The seed makes it; `view` is `text` for signs or `image` for a picture."""

    view = "text"

    def reset(self, seed: int | None = None, view: str | None = None, **params: Any) -> dict[str, Any]:
        """Make a maze and stand at its start."""
        self.view = view or self.view
        self.world = generate(random.Random(seed))
        self.place = self.world.start
        self.has_key = False
        self.steps = 0
        self.shortest = len(route(self.world, self.place, has_key=False) or [])
        data, content_type = self._look("Find the key.")
        return {"data": data, "content_type": content_type}

    def parse_action(self, action: Any) -> str:
        """Take the last move that a reply names."""
        named = re.findall(rf"\b({'|'.join(MOVES)})\b", str(action).lower())
        return str(named[-1]) if named else ""

    def step(self, action: str) -> StepResult:
        """Move by one place, if nothing is in the way."""
        self.steps += 1
        reward, message = self._move(action)
        reached = self.place == self.world.goal
        ended = reached or self.place in self.world.lava
        data, content_type = self._look(message)
        return StepResult(
            observation=data,
            reward=reward,
            terminated=ended,
            truncated=self.steps == MAX_STEPS and not ended,
            info={
                "reached_goal": reached,
                "efficiency": self.shortest / self.steps if reached else 0.0,
                "has_key": self.has_key,
                "steps": self.steps,
                "shortest": self.shortest,
            },
            content_type=content_type,
        )

    def oracle(self) -> str:
        """Return the first move of the shortest way."""
        way = route(self.world, self.place, has_key=self.has_key)
        return way[0] if way else "up"

    def render(self, mode: str = "text") -> str:
        """Show the maze."""
        return "\n".join(self._rows())

    def _move(self, action: str) -> tuple[float, str]:
        """Carry out an action; return its reward and what there is to say about it."""
        if action not in MOVES:
            return STEP_COST, f"Choose one of {', '.join(MOVES)}."
        there = moved(self.place, action)
        cell = self.world.cell(there)
        if cell == WALL:
            return STEP_COST, "A wall is in the way."
        if cell == DOOR and not self.has_key:
            return STEP_COST, "The door is locked."
        self.place = there
        if cell == KEY and not self.has_key:
            self.has_key = True
            return 0.2, "You take the key."
        return ENTERED.get(cell, (STEP_COST, ""))

    def _look(self, message: str) -> tuple[str, str]:
        """Return what the agent sees, and the media type of it."""
        rows = self._rows()
        if self.view == "image":
            carrying = [row.replace("@", "&") for row in rows] if self.has_key else rows
            return base64.b64encode(draw(carrying)).decode(), "image/png"
        hand = "the key" if self.has_key else "nothing"
        status = f"You carry {hand}. Steps left: {MAX_STEPS - self.steps}. {message}"
        return "\n".join([*rows, "", status.strip()]), "text/plain"

    def _rows(self) -> list[str]:
        world = self.world
        rows = [[world.cell((x, y)) for x in range(world.width)] for y in range(world.height)]
        if self.has_key:
            rows[world.key[1]][world.key[0]] = FLOOR
        rows[self.place[1]][self.place[0]] = "@"
        return ["".join(row) for row in rows]


class PictureWorld(GridWorld):
    """The same mazes, seen as pictures."""

    view = "image"
