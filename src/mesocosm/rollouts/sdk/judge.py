"""The model that a grader may ask."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Judge:
    """A model behind an OpenAI-compatible address: the URL before `/chat/completions`, the key, the model's name."""

    base_url: str
    api_key: str = field(repr=False)
    model: str


class JudgeError(Exception):
    """The judge gave no answer."""
