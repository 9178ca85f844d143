"""The values of one metric in one run by task, in arrays compact enough for a million."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from mesocosm.core.failure import Cause
from mesocosm.core.ports import ScoreRow
from mesocosm.core.score import Metric
from mesocosm.engine.metrics import declared_worst
from mesocosm.stats import LARGEST


@dataclass(slots=True)
class Tasks:
    """The tasks of several runs, numbered in the order in which they were first seen.

    `digests` are their names. `clusters` are the numbers of their items: variants of one item share the number of the
    first of them; a task that is no variant is an item of its own. An item may have the name of one of its tasks.
    """

    digests: list[str] = field(default_factory=list)
    clusters: "array[int]" = field(default_factory=lambda: array("q"))
    places: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)

    @property
    def clustered(self) -> bool:
        """Whether any task is a variant of an item."""
        return bool(self.items)

    def place(self, digest: str, cluster: str) -> int:
        """Return the number of a task; a new task gets the next number."""
        if digest in self.places:
            return self.places[digest]
        place = self.places[digest] = len(self.digests)
        self.digests.append(digest)
        if cluster:
            self.clusters.append(self.items.setdefault(cluster, self.places.get(cluster, place)))
        else:
            self.clusters.append(self.items.get(digest, place))
        return place


@dataclass(slots=True)
class Sample:
    """One run in one metric: `sums` of values and `sizes` (scored trials) by task number.

    Both may be shorter than the list of tasks if other runs have more. `binary` means that every value is 0 or 1, as
    for pass rates (1 above the threshold). `worst` is the value that failures of the agent counted as, None if there
    are none or it is unknown; `missing` is the number of episodes without a value. `width` is the distance of the
    declared bounds of a value, None if there are none.
    """

    sums: "array[float]"
    sizes: "array[int]"
    binary: bool = True
    worst: float | None = None
    missing: int = 0
    width: float | None = None

    @property
    def scored(self) -> int:
        """Number of tasks with a value."""
        return len(self.sizes) - self.sizes.count(0)

    @property
    def bounded(self) -> bool:
        """Whether the distance of the bounds of a value is known."""
        return self.binary or self.width is not None

    def mean(self, place: int) -> float | None:
        """Return the mean over the trials of a task, None if it has no value."""
        size = self.sizes[place] if place < len(self.sizes) else 0
        return self.sums[place] / size if size else None

    def add(self, places: "array[int]", values: "array[float]", count: int) -> None:
        """Add values to the tasks with these numbers, out of `count` tasks."""
        self.fill(count)
        sums, sizes = self.sums, self.sizes
        for place, value in zip(places, values, strict=True):
            sums[place] += value
            sizes[place] += 1

    def fill(self, count: int) -> None:
        """Make room for `count` tasks."""
        missing = count - len(self.sizes)
        if missing > 0:
            self.sums.extend(array("d", bytes(8 * missing)))
            self.sizes.extend(array("q", bytes(8 * missing)))


def read_sample(rows: Iterable[ScoreRow], metric: Metric, tasks: Tasks) -> Sample:
    """Return the values of `metric` from streamed scores; new tasks are added to `tasks`.

    A failure of the agent counts as the metric's worst value and a missing value is left out, as in `metrics.measure`;
    episodes that a grader skipped are not counted as missing.
    """
    score, missing = metric.score, 0
    known, place_of = tasks.places.get, tasks.place
    values, places = array("d"), array("q")
    worst_places: array[int] = array("q")
    for digest, cluster, _, name, value, cause, worst in rows:
        if name != score:
            continue
        if value is not None and -LARGEST <= value <= LARGEST:
            place = known(digest)
            values.append(value)
            places.append(place_of(digest, cluster) if place is None else place)
        elif worst:
            worst_places.append(place_of(digest, cluster))
        elif cause != Cause.SKIPPED:
            missing += 1
    assumed = _worst(metric, values) if worst_places else None
    if assumed is None:
        missing += len(worst_places)
    else:
        values.extend([assumed] * len(worst_places))
        places.extend(worst_places)
    if metric.aggregation == "pass_rate":
        values = array("d", (value > metric.bar for value in values))
    sample = Sample(array("d"), array("q"), all(value in (0.0, 1.0) for value in values), assumed, missing)
    if metric.aggregation == "pass_rate":
        sample.width = 1.0
    elif metric.low is not None and metric.high is not None and values:
        sample.width = metric.high - metric.low if metric.low <= min(values) <= max(values) <= metric.high else None
    sample.add(places, values, len(tasks.digests))
    return sample


def _worst(metric: Metric, values: "array[float]") -> float | None:
    if not metric.directed:
        return None
    declared = declared_worst(metric)
    if metric.aggregation == "pass_rate" or not values:
        return declared
    # A declared bound may be per step, so the sum of an episode can exceed it.
    seen = min(values) if metric.higher_is_better else max(values)
    if declared is None:
        return seen
    return min(seen, declared) if metric.higher_is_better else max(seen, declared)
