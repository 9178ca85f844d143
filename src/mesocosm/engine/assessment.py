"""What an episode's task asked, what was expected, what was given, and why it was graded so: in its own row."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mesocosm.core.behaviour import Behaviour
from mesocosm.core.episode import SCOREABLE, Episode, EpisodeStatus
from mesocosm.core.one_line import answer_line, cut
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task

SENTENCE = 400
"""Most characters of a reason."""
_KIND = 100
_SHORT = 60

_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<![\w])'[^'\n]*'(?!\w)")
_NUMBER = re.compile(r"(?<![A-Za-z_])[-+\u2212]?\d(?:[\d,.\u202f]*\d)?(?:e[-+]?\d+)?", re.IGNORECASE)

_WORD = re.compile(r"[^\W\d_]{4,}")
"""A word that says something of a sentence without its numbers and quoted words."""
_OTHER = "Another answer"

_BEHAVED = {
    Behaviour.REFUSED: "The model refused to answer",
    Behaviour.EMPTY: "The last reply is empty",
    Behaviour.CUT_OFF: "The last reply was cut off at its limit of tokens",
    Behaviour.LOOPED: "The model repeated itself",
    Behaviour.MALFORMED: "A reply held no valid action",
    Behaviour.GAVE_UP: "The model gave up",
}
_UNDONE = frozenset({Behaviour.EMPTY, Behaviour.CUT_OFF})
_OWN = frozenset(
    {"total_tokens", "max_steps", "declared_max_steps", "reward", "row", "attempt", "returncode", "steps", "turns"}
)
_MOST_FACTS = 4
_ANSWERS = ("answer", "patch")
"""Keys of an episode's terminal info that hold what was graded, in order of preference."""


def assess(
    episode: Episode,
    task: Task,
    metrics: Sequence[Metric],
    behaviour: Behaviour | None,
    *,
    said: str = "",
    stored: Callable[[Any], Any] = lambda value: value,
) -> None:
    """Set `input`, `target`, `reference`, `answer`, `why`, `mistake` and `behaviour` of an episode that was graded.

    `said` is the model's last reply: where a task has a right answer and nothing else is known as the answer, that is
    it. Removes from its scores what belongs to the episode. `stored` returns a value, or a reference to a large one.
    """
    metric = next((one for one in metrics if one.primary), None)
    score = primary_of(episode.scores, metric)
    expected = None if score is None else score.expected
    given = None if score is None else score.answer
    info = episode.terminal_info
    if given is None and (task.input is not None or task.target is not None):
        # Where a task is only a seed, these are the environment's own: `answer` may be the word to guess.
        given = next((info[name] for name in _ANSWERS if info.get(name) not in (None, "")), None)
    right = task.target if expected is None else expected
    if given is None and right is not None:
        given = said or episode.answer
    episode.input, episode.target = stored(task.input), stored(right)
    episode.reference, episode.answer = stored(task.reference), stored(given)
    episode.behaviour = behaviour or ""
    episode.why = episode.mistake = ""
    if falls_short(episode, score, metric):
        episode.why, episode.mistake = _reason(episode, score, behaviour, right, given)
    episode.scores = tuple(map(_stripped, episode.scores))


def primary_of(scores: Iterable[Score], metric: Metric | None) -> Score | None:
    """Return the score that the primary metric reads; without a metric the only one."""
    listed = list(scores)
    if metric is None:
        return listed[0] if len(listed) == 1 else None
    return next((score for score in reversed(listed) if score.name == metric.score), None)


def falls_short(episode: Episode, score: Score | None, metric: Metric | None) -> bool:
    """Return whether an episode was measured and its primary score is less than the best one.

    The best is the declared bound, or of a pass rate its threshold; where neither is known, any value above 0.
    """
    if episode.failure is not None:
        return episode.valid
    if score is None or episode.status not in SCOREABLE:
        return False
    if score.worst:
        return True
    if score.value is None or (metric is not None and not metric.directed):
        return False
    if metric is None:
        return score.value <= 0
    if metric.aggregation == "pass_rate":
        return (score.value <= metric.bar) == metric.higher_is_better
    best = metric.high if metric.higher_is_better else metric.low
    if best is None:
        return metric.higher_is_better and score.value <= metric.threshold
    return score.value < best if metric.higher_is_better else score.value > best


def kind_of(sentence: str) -> str:
    """Return a sentence without what differs between like mistakes: its numbers and quoted words."""
    kept = _NUMBER.sub("…", _QUOTED.sub("…", sentence))
    if "…" in kept and not _WORD.search(kept):
        return _OTHER
    return cut(re.sub(r"…(?:\W*…)+", "…", kept), _KIND)


def _reason(
    episode: Episode, score: Score | None, behaviour: Behaviour | None, right: Any, given: Any
) -> tuple[str, str]:
    """Return why an episode fell short, and the kind of its mistake."""
    if episode.failure is not None:
        message = cut(episode.failure.message, SENTENCE)
        named = episode.failure.cause.value.replace("_", " ")
        return message or f"{named}.", _BEHAVED[behaviour] if behaviour else named
    said = "" if score is None else _sentence(score.explanation)
    mistake = "" if score is None else score.mistake
    # What a grader says of a reply that is no answer, or not all of one, is a consequence.
    if behaviour is Behaviour.REFUSED:
        return f"{_BEHAVED[behaviour]}{_at_the_end(behaviour, given)}", _BEHAVED[behaviour]
    if score is not None and said and behaviour in _UNDONE and not said.endswith("is empty"):
        return f"{_BEHAVED[behaviour]}; {cut(score.explanation, SENTENCE)}", _BEHAVED[behaviour]
    if said:
        return said, mistake or (_BEHAVED[behaviour] if behaviour else kind_of(said))
    if behaviour is not None:
        return f"{_BEHAVED[behaviour]}{_at_the_end(behaviour, given)}", mistake or _BEHAVED[behaviour]
    if given not in (None, "") and right not in (None, ""):
        return (
            f"It gives {answer_line(given, _SHORT)}, expected {answer_line(right, _SHORT)}",
            mistake or _OTHER,
        )
    return _ended(episode, score, mistake)


def _at_the_end(behaviour: Behaviour, given: Any) -> str:
    if behaviour in {Behaviour.REFUSED, Behaviour.GAVE_UP} and isinstance(given, str) and given:
        return f": {cut(given, _SHORT)}"
    return ""


def _ended(episode: Episode, score: Score | None, mistake: str) -> tuple[str, str]:
    """Return how an episode without an answer or an explanation ended."""
    value = "" if score is None or score.value is None else f" with {score.name} {score.value:g}"
    steps = f"after {episode.steps:,} {'step' if episode.steps == 1 else 'steps'}"
    if episode.status is EpisodeStatus.TRUNCATED:
        return f"It was not done {steps}, the most allowed", mistake or "Used up its steps"
    if episode.status is EpisodeStatus.TIMEOUT:
        return f"It was not done when its time was up, {steps}", mistake or "Used up its time"
    reason = episode.terminal_info.get("reason")
    if isinstance(reason, str) and reason:
        named = cut(reason.replace("_", " "), _KIND)
        return f"It ended {steps}{value}: {named}", mistake or kind_of(named)
    return f"It ended {steps}{value}{_facts(episode.terminal_info)}", mistake or _outcome(episode.terminal_info)


def _outcome(info: Mapping[str, Any]) -> str:
    """Return what an environment says true or false of at the end, which is the same for like ends."""
    told = [
        f"{cut(name.replace('_', ' '), _SHORT)} {str(value).lower()}"
        for name, value in info.items()
        if isinstance(value, bool) and name not in _OWN
    ]
    return cut(f"Ended with {', '.join(told[:_MOST_FACTS])}", _KIND) if told else "Ended without success"


def _facts(info: Mapping[str, Any]) -> str:
    """Return a few facts that an environment gave at the end, such as ` (guesses 7, found false)`."""
    told = [
        f"{cut(name.replace('_', ' '), _SHORT)} {str(value).lower() if isinstance(value, bool) else f'{value:g}'}"
        for name, value in info.items()
        if isinstance(value, bool | int | float) and name not in _OWN
    ]
    return f" ({', '.join(told[:_MOST_FACTS])})" if told else ""


def _sentence(text: str) -> str:
    """Return an explanation as one sentence; a name in front keeps its spelling."""
    said = cut(text, SENTENCE)
    return said[:1].upper() + said[1:] if said.partition(" ")[0].isalpha() else said


def _stripped(score: Score) -> Score:
    if score.answer is None and score.expected is None and not score.mistake:
        return score
    return Score(score.name, score.value, score.missing, score.worst, score.explanation)


__all__ = ["assess", "falls_short", "kind_of", "primary_of"]
