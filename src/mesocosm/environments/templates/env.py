"""The environment: one instance per episode. Replace this code with your own environment."""

import random
import re

from mesocosm.environments import BaseEnv, StepResult

LOWEST, HIGHEST, GUESSES = 1, 50, 6


class MyEnv(BaseEnv):
    """Find a secret number with as few guesses as possible."""

    def reset(self, seed=None, **params):
        """Start an episode; the same seed always gives the same secret."""
        self.secret = random.Random(seed).randint(LOWEST, HIGHEST)
        self.low, self.high = LOWEST, HIGHEST
        self.guesses = 0
        return self.observation(answer=None)

    def parse_action(self, action):
        """Return the last integer in the agent's answer, or None."""
        numbers = re.findall(r"-?\d+", str(action))
        return int(numbers[-1]) if numbers else None

    def step(self, action):
        """Evaluate one guess. An answer without a number also costs a guess."""
        self.guesses += 1
        if action is None:
            answer = "not a number"
        elif action == self.secret:
            answer = "correct"
        elif action < self.secret:
            answer, self.low = "higher", max(self.low, action + 1)
        else:
            answer, self.high = "lower", min(self.high, action - 1)
        correct = answer == "correct"
        return StepResult(
            observation=self.observation(answer),
            reward=float(correct),
            terminated=correct or self.guesses >= GUESSES,
            truncated=False,
            info={"correct": correct, "guesses": self.guesses},
        )

    def observation(self, answer):
        """Return what the agent sees."""
        return {"low": self.low, "high": self.high, "answer": answer, "guesses_left": GUESSES - self.guesses}

    def oracle(self):
        """Return the best action. Optional; `--model builtin/oracle` measures the score of these actions."""
        return str((self.low + self.high) // 2)
