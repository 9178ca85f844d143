"""The tags that a run may have."""

import unicodedata

from mesocosm.core.failure import InvalidInput, Problem

LONGEST_TAG = 100
MOST_TAGS = 50


def checked_tags(tags: list[str]) -> list[str]:
    """Return tags without the space around them, each once. Raises InvalidInput that names every one that cannot be."""
    found: dict[str, None] = {}
    problems = []
    for place, given in enumerate(tags):
        tag = given.strip()
        if problem := _problem(tag):
            problems.append(Problem(f"tags[{place}]", *problem))
        found[tag] = None
    if len(tags) > MOST_TAGS:
        problems.append(Problem("tags", f"{len(tags)} tags are too many", f"a run takes {MOST_TAGS}"))
    if problems:
        raise InvalidInput("the tags", problems)
    return list(found)


def _problem(tag: str) -> tuple[str, str] | None:
    if not tag:
        return "an empty tag", "leave it out"
    if len(tag) > LONGEST_TAG:
        return f"a tag of {len(tag)} characters", f"use at most {LONGEST_TAG}"
    if any(unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"} for letter in tag):
        return "a tag with control characters", "use letters, digits and punctuation"
    return None
