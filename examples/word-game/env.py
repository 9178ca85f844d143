"""A word game: find the secret five-letter word in six guesses."""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mesocosm.environments import BaseEnv, StepResult

WORDS = tuple((Path(__file__).parent / "words.txt").read_text(encoding="utf-8").split())
GUESSES = 6
TURNS = 12  # guesses, refused words and look-ups together
SHOWN = 12  # words in the answer to a look-up, at most
HIT, NEAR, MISS = "🟩", "🟨", "⬛"
OPENING = "irate"  # leaves the fewest words of the whole list; finding that out takes seconds

CHOICES = (  # how a reply names its guess, the most explicit way first; of several, the last one counts
    re.compile(r"\b(?:guess|answer|word|choice)\b\W*(?:is|:|=)\W*([a-z]{5})\b", re.IGNORECASE),
    re.compile(r"[*\"'`“]([a-z]{5})[*\"'`”]", re.IGNORECASE),
    re.compile(r"\b([A-Z]{5})\b"),
    re.compile(r"\b([a-z]{5})\b", re.IGNORECASE),
)


class WordGame(BaseEnv):
    """One game. The secret is drawn by the seed; every word of the list is a valid guess."""

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        """Draw a new secret."""
        self.secret = random.Random(seed).choice(WORDS)
        self.board: list[tuple[str, str]] = []
        self.turns = 0
        return self._look("Guess a five-letter word.")

    def parse_action(self, action: Any) -> str | dict[str, Any]:
        """Find the guess, or the call of a tool, in whatever the agent replied."""
        call = object_in(action) if isinstance(action, str) else action
        if isinstance(call, dict) and ("tool" in call or "name" in call):
            return call
        for choice in CHOICES:
            if words := choice.findall(str(action)):
                return str(words[-1]).lower()
        return ""

    def step(self, action: str | dict[str, Any]) -> StepResult:
        """Play a guess, or answer the call of a tool."""
        self.turns += 1
        if isinstance(action, dict):
            message = look_up(action)
        elif action in WORDS:
            self.board.append((action, marks(action, self.secret)))
            message = ""
        else:
            message = f"{action.upper()} is not in the word list." if action else "Reply with a five-letter word."
        return self._judge(message)

    def oracle(self) -> str:
        """Play by what the board tells, without peeking: guess the possible word that leaves the fewest others."""
        if not self.board:
            return OPENING
        possible = [word for word in WORDS if all(marks(guess, word) == row for guess, row in self.board)]
        return min(possible, key=lambda guess: expected_rest(guess, possible))

    def render(self, mode: str = "text") -> str:
        """Show the board."""
        return "\n".join(self._rows())

    def _judge(self, message: str) -> StepResult:
        used = len(self.board)
        solved = used > 0 and self.board[-1][0] == self.secret
        lost = not solved and (used == GUESSES or self.turns == TURNS)
        info: dict[str, Any] = {"solved": solved, "guesses": used}
        if solved:
            message = f"Solved with guess {used} of {GUESSES}."
        elif lost:
            message = f"The word was {self.secret.upper()}."
            info["guesses"] = GUESSES + 1  # so that giving up early is not a fast game
        if solved or lost:
            info["secret"] = self.secret
        return StepResult(
            observation=self._look(message),
            reward=(GUESSES + 1 - used) / GUESSES if solved else 0.0,
            terminated=solved or used == GUESSES,
            truncated=lost and used < GUESSES,
            info=info,
        )

    def _look(self, message: str) -> dict[str, Any]:
        """Return what the agent sees: the board, what it says about each letter, and what is left."""
        letters: dict[str, set[str]] = {HIT: set(), NEAR: set(), MISS: set()}
        known = ["_"] * 5
        for guess, row in self.board:
            for place, (letter, mark) in enumerate(zip(guess, row, strict=True)):
                letters[mark].add(letter)
                if mark == HIT:
                    known[place] = letter
        inside = letters[HIT] | letters[NEAR]
        return {
            "board": self._rows(),
            "letters": {
                "known": "".join(known),
                "inside": "".join(sorted(inside)),
                "outside": "".join(sorted(letters[MISS] - inside)),
            },
            "guesses_left": GUESSES - len(self.board),
            "turns_left": TURNS - self.turns,
            "message": message or "Guess again.",
        }

    def _rows(self) -> list[str]:
        played = [f"{guess.upper()} {row}" for guess, row in self.board]
        return played + ["·····"] * (GUESSES - len(played))


def marks(guess: str, secret: str) -> str:
    """Mark every letter of a guess.

    A letter is marked as often as the secret has it: hits first, then near misses from the left.
    """
    spare = [wanted for letter, wanted in zip(guess, secret, strict=True) if letter != wanted]
    row = ""
    for letter, wanted in zip(guess, secret, strict=True):
        if letter == wanted:
            row += HIT
        elif letter in spare:
            spare.remove(letter)
            row += NEAR
        else:
            row += MISS
    return row


def expected_rest(guess: str, possible: Sequence[str]) -> int:
    """Return how many of the possible words remain after a guess: the mean over them, times their number."""
    return sum(count**2 for count in Counter(marks(guess, secret) for secret in possible).values())


def look_up(call: dict[str, Any]) -> str:
    """Answer `{"tool": "find_words", "arguments": {"pattern": "s..te"}}` by the words that fit."""
    if call.get("tool", call.get("name")) != "find_words":
        return "The only tool is find_words."
    arguments = call.get("arguments")
    pattern = str(arguments.get("pattern") if isinstance(arguments, dict) else arguments).lower()
    if not re.fullmatch(r"[a-z.]{5}", pattern):
        return "find_words takes a pattern of five characters, with a dot for an unknown letter: s..te"
    fitting = [word for word in WORDS if re.fullmatch(pattern, word)]
    rest = f" and {len(fitting) - SHOWN} more" if len(fitting) > SHOWN else ""
    return f"{pattern} fits: {', '.join(fitting[:SHOWN]) or 'no word'}{rest}"


def object_in(reply: str) -> dict[str, Any] | None:
    """Return the JSON object in a reply, if there is one."""
    try:
        found = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
