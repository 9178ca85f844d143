"""Which item of a program each of its model calls belongs to."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mesocosm.benchmarks.items import ProgramItem
from mesocosm.core.proxy import AskedCall
from mesocosm.models.recording import RecordedCompletion, Recording

_SHORTEST = 8
"""Characters of an input that may be looked for in calls; a shorter one occurs by chance."""


def attributed(items: Sequence[ProgramItem], calls: Sequence[AskedCall]) -> dict[str, list[int]]:
    """Return the numbers of the calls, from 1, of each item by its id.

    A call that names an item (`user`, or `item` in `metadata`) is that item's. Another one belongs to the item whose
    input occurs in its messages; of inputs that contain each other, the longest counts. A call of which this is not
    certain belongs to no item: unknown names, inputs that several items have, ids that occur twice.
    """
    known = {name for name, times in Counter(item.id for item in items).items() if times == 1}
    inputs = Recording("")
    for item in items:
        text = max(_texts(item.input), key=len, default="")
        if len(text.strip()) >= _SHORTEST:
            inputs.add(RecordedCompletion(item.id, question=text))
    found: dict[str, list[int]] = {}
    for number, call in enumerate(calls, 1):
        name = call.item or _holder(inputs, call.text)
        if name in known:
            found.setdefault(name, []).append(number)
    return found


def _holder(inputs: Recording, text: str) -> str:
    """Return the id of the only item whose input is in a text, or an empty string."""
    found = inputs.find(None, None, [text])
    return found[0].text if len(found) == 1 else ""


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
