"""Collect problems of rows: keep the first ones, count the rest."""

from mesocosm.core.failure import InvalidInput, Problem

__all__ = ["MOST", "DatasetProblems"]

MOST = 20
"""Maximum number of problems to keep; further ones are only counted."""


class DatasetProblems:
    """Problems of one dataset, collected while its rows are read."""

    def __init__(self) -> None:
        self.first: list[Problem] = []
        self.total = 0

    def add(self, path: str, message: str, fix: str = "") -> None:
        """Add one problem."""
        self.take(Problem(path, message, fix))

    def take(self, problem: Problem) -> None:
        """Add one problem."""
        self.total += 1
        if len(self.first) < MOST:
            self.first.append(problem)

    def check(self, subject: str) -> None:
        """Raise InvalidInput about `subject` if there are problems; it says how many of them are listed."""
        if not self.total:
            return
        hidden = self.total - len(self.first)
        said = f"{subject} (the first {len(self.first)} of {self.total:,} problems)" if hidden else subject
        raise InvalidInput(said, self.first)
