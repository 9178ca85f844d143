"""The messages of a guest.

We and the guest talk over a socket, one JSON object a line. Ours have a number and a word: `{"id": 1, "do":
"describe", …}`. The guest answers each with any number of `{"id": 1, "event": {…}}` and one `{"id": 1, "done": {…}}`
or `{"id": 1, "failed": {"cause", "message", "detail"}}`. A line of more than LONGEST_LINE bytes goes through a file:
`{"file": PATH}`; whoever reads it removes it.

| do | fields | done |
|---|---|---|
| `describe` | `source`, `args` | `Described` |
| `tasks` | | events `{"task": GuestTask}`, then nothing |
| `play` | those of `reset`, `base_url`, `key`, `model`, `judge`, `seconds`, `sampling` | `GuestOutcome` |
| `reset` | `episode`, `task`, `place`, `trial`, `seed` | `{"observation", "info"}`, see below |
| `step` | `episode`, `action` | `{"observation", "reward", "terminated", "truncated", "info"}` |
| `oracle` | `episode` | `{"action"}` |
| `whole` | `infos`, those of all scored episodes | a list of WholeNumber, for a guest that `Described.whole` |
| `leave` | `episode` | nothing: the environment of the episode is closed |
| `original` | `base_url`, `key`, `model`, `limit`, `trials` | events `{"sample": OriginalSample}`, then nothing |
| `original`, of a stepped one | `episodes`, a list of `{"seed" or "row", "actions"}` | the same |
| `cancel` | `of` (a number) | nothing: the request of that number ends as failed, if it was not done |
| `catalogue` | | events `{"entry": CatalogueEntry}`, then nothing |
| `hello` | | `{"python": VERSION}`, once the framework has been imported |

Beside an `observation` there may be its `content_type`, a `system_prompt`, and `legal`: the only actions that are
allowed next. With `rival`, the opponent acts next, whom the judge of the run plays: its action is the next `step`, null
for one that the guest is to draw. Numbers under `scores` of the last `info` are scores of the episode.
"""

from typing import Annotated, Any

import msgspec

from mesocosm.core.failure import Cause
from mesocosm.core.score import Metric, Score

LONGEST_LINE = 8 * 1024 * 1024


class GuestScore(msgspec.Struct, frozen=True):
    """A score as a guest gives it. Without a value it is missing, for the cause `missing`; never 0."""

    name: str
    value: float | None = None
    missing: str = ""
    explanation: str = ""
    answer: Any = None
    expected: Any = None

    def score(self) -> Score:
        """Return the score of an episode."""
        missing = None
        if self.value is None:
            missing = Cause(self.missing) if self.missing in set(Cause) else Cause.VALUE_MISSING
        return Score(
            self.name, self.value, missing, explanation=self.explanation, answer=self.answer, expected=self.expected
        )


class Described(msgspec.Struct, frozen=True):
    """What a guest has loaded: facts for core.info.BenchmarkInfo.

    `digest` covers the source, the version of its package, the arguments and the content of the data. `metrics` may be
    empty for a benchmark that `discovers` them. `tasks` is their number, None where any seed is a task. `needs` names
    what this machine must have (`docker`). `packages` are versions by name. `max_tokens`, `logprobs` and `trials` are
    as in BenchmarkInfo. `whole` is the key in the infos of episodes of what the guest makes numbers of the whole run
    from; empty if there are none. The agent plays each of the `roles` in a conversation of its own; the info of a step
    names the one that acts next under `active_role`.
    """

    id: str
    title: str
    version: str
    digest: str
    description: str = ""
    tasks: int | None = None
    metrics: tuple[Metric, ...] = ()
    packages: dict[str, str] = {}
    needs: tuple[str, ...] = ()
    judged: bool = False
    discovers: bool = False
    parallel: int | None = None
    max_steps: int | None = None
    oracle: bool = False
    action_space: Any = None
    observation_space: Any = None
    system_prompt: str = ""
    max_tokens: int | None = None
    logprobs: str = ""
    whole: str = ""
    roles: tuple[str, ...] = ()
    card: dict[str, Any] = {}
    notices: tuple[str, ...] = ()
    trials: Annotated[int, msgspec.Meta(ge=1)] = 1


class GuestTask(msgspec.Struct, frozen=True):
    """One problem. `place` is its position among the tasks of the source, by which the guest finds it again."""

    id: str
    place: int
    input: Any = None
    target: Any = None
    seed: int | None = None
    cluster: str | None = None
    metadata: dict[str, Any] = {}
    labels: dict[str, str] = {}


class GuestOutcome(msgspec.Struct, frozen=True):
    """How an episode ended that a guest played.

    `status` is `completed`, `truncated` (a limit of the framework) or `timeout`; what failed is a
    GuestFailure instead. `info` is stored with the episode.
    """

    status: str = "completed"
    scores: tuple[GuestScore, ...] = ()
    answer: Any = None
    info: dict[str, Any] = {}


class CatalogueEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A benchmark that can be run: `run` is what names it. `tasks` is their number, None if unknown or unlimited.

    `needs` names what this machine must have beside the framework; `missing` says that the framework is not here.
    """

    id: str
    run: str
    title: str = ""
    description: str = ""
    tasks: int | None = None
    needs: tuple[str, ...] = ()
    licence: str = ""
    tags: tuple[str, ...] = ()
    missing: bool = False


class OriginalSample(msgspec.Struct, frozen=True):
    """What the framework's own runner made of one task: its scores, or why it `failed`."""

    place: int
    trial: int = 0
    scores: tuple[GuestScore, ...] = ()
    failed: str = ""


class GuestFailure(msgspec.Struct, frozen=True):
    """Why a request failed. `cause` is a core.failure.Cause; unknown ones are failures of the environment."""

    message: str
    cause: str = ""
    detail: str = ""
