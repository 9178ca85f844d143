"""What a model says to one request of lm-evaluation-harness: a text, or how probable a text is."""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import Failed
from .lm_eval_windows import Window, Windows, written
from .model_calls import ModelAddress, ModelCalls

MAX_GEN_TOKS = 256
"""The limit of a reply in lm-evaluation-harness where a task says none."""
_MOST_STOPS = 4
"""Providers take no more of them; replies are cut here at all of them."""
_SCORED = {"max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
"""What asks how probable the text of a request is."""
_CUT = "a text is cut to what the model takes if you name its tokenizer: tokenizer=NAME and max_length=TOKENS"
_OWN = frozenset({"until", "max_gen_toks", "max_tokens", "do_sample"})
"""Settings that have other names in a request, or none."""
_LETTER = re.compile(
    r"\W*(?:(?:the )?(?:correct |right |best )?(?:answer|option|choice)\W+(?:is\W+)?)?([A-Z])(?![A-Za-z'])"
)
_ANSWER = re.compile(r"(?:answer|option|choice)\W+(?:is\W+)?([A-Z])(?![A-Za-z'])")


def stops(settings: Mapping[str, Any]) -> list[str]:
    """Return the texts at which a reply ends."""
    until = settings.get("until")
    found = [until] if isinstance(until, str) else list(until or ())
    return [text for text in found if text]


def longest(settings: Mapping[str, Any]) -> int:
    """Return the limit of a reply in tokens."""
    return int(settings.get("max_tokens") or settings.get("max_gen_toks") or MAX_GEN_TOKS)


@dataclass
class _Read:
    """What a server says of the tokens of a text: their values, best values and texts, without what it added."""

    values: list[Any]
    best: list[Any]
    tokens: list[Any]


@dataclass
class Answers:
    """The answers of one episode. `prefix` is put before a text that nothing else stands before.

    With `windows`, texts are cut to what the model takes at once; without them it is asked about each as a whole.
    """

    calls: ModelCalls
    address: ModelAddress
    chat: bool
    prefix: str = ""
    think_end_token: str = ""
    windows: Windows | None = None
    _counted: dict[str, int] = field(default_factory=dict)

    async def generate(self, context: Any, settings: Mapping[str, Any]) -> str:
        """Return the reply to a context (a text, or messages), cut where the task says. Raises Failed."""
        until = stops(settings)
        body = {name: value for name, value in settings.items() if name not in _OWN}
        body |= {"max_tokens": longest(settings), "temperature": settings.get("temperature", 0)}
        if until:
            body["stop"] = until[:_MOST_STOPS]
        if self.chat:
            messages = context if isinstance(context, list) else [{"role": "user", "content": context}]
            answer = await self.calls.post(self.address, "/chat/completions", {"messages": messages, **body})
            said = _first(answer).get("message", {}).get("content")
        else:
            prompt = self.windows.context(context, body["max_tokens"]) if self.windows is not None else context
            answer = await self.calls.post(self.address, "/completions", {"prompt": prompt, **body})
            said = _first(answer).get("text")
        # A model that spent all its tokens on thoughts said nothing, as in lm-evaluation-harness.
        text = said if isinstance(said, str) else ""
        if self.think_end_token:
            text = text.split(self.think_end_token)[-1].lstrip()
        for stop in until:
            text = text.split(stop)[0]
        return text

    async def loglikelihood(self, context: str, continuation: str) -> tuple[float, bool]:
        """Return the log-probability of a continuation, and whether it is what the model would say. Raises Failed."""
        if self.windows is not None:
            return await self._in_window(self.windows.ending(context, continuation))
        # White space at the end of a context belongs to the first token behind it.
        before = context.rstrip()
        text = context + continuation
        if not before and self.prefix:
            return await self._behind_prefix(text)
        read = await self._read(text)
        begin = _boundary(read.tokens, text, len(before))
        if begin is None:
            begin = await self._count(before) if before else 0
        return _sum(read, begin)

    async def loglikelihood_rolling(self, text: str) -> float:
        """Return the log-probability of a whole text. Raises Failed."""
        if self.windows is None:
            return (await self.loglikelihood("", text))[0]
        return sum([(await self._in_window(window))[0] for window in self.windows.rolling(text)])

    async def _in_window(self, window: Window) -> tuple[float, bool]:
        """Return the log-probability of what is rated in a window. Raises Failed."""
        assert self.windows is not None
        answer = await self.calls.post(self.address, "/completions", {"prompt": window.prompt, **_SCORED})
        return self.windows.read(window, answer)

    async def _behind_prefix(self, text: str) -> tuple[float, bool]:
        """Return the log-probability of a text that nothing stands before but the prefix. Raises Failed."""
        read = await self._read(self.prefix + text)
        begin = _boundary(read.tokens, self.prefix + text, len(self.prefix))
        if begin is None and _is_text(read.tokens):
            raise Failed(
                f"prefix_token={self.prefix!r} is one token with the beginning of the text; choose another",
                "value_missing",
            )
        return _sum(read, await self._count(self.prefix) if begin is None else begin)

    async def _count(self, text: str) -> int:
        """Return of how many tokens a text is."""
        if text not in self._counted:
            self._counted[text] = len((await self._read(text)).values)
        return self._counted[text]

    async def _read(self, text: str) -> _Read:
        try:
            answer = await self.calls.post(self.address, "/completions", {"prompt": text, **_SCORED})
        except Failed as error:
            if error.cause != "value_missing":
                raise
            raise Failed(f"{error}; {_CUT}", error.cause) from error
        choice = _first(answer)
        found = choice.get("logprobs")
        found = found if isinstance(found, dict) else {}
        values, best, tokens = (found.get(name) or [] for name in ("token_logprobs", "top_logprobs", "tokens"))
        added = written(answer)
        if not str(choice.get("text") or "").startswith(text) or len(values) <= added or len(best) != len(values):
            raise Failed(
                "the server of the model does not tell how probable a given text is: /completions with echo and "
                "logprobs was answered without the log-probabilities of the prompt",
                "model_invalid",
            )
        end = len(values) - added
        return _Read(values[:end], best[:end], tokens[:end])


def _first(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first choice. Raises Failed."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Failed("the model answered without a choice", "program_failed")
    return choices[0]


def _boundary(tokens: Sequence[Any], text: str, length: int) -> int | None:
    """Return which token begins after `length` characters; None if none does, or the tokens are not known as texts.

    Where a token begins there, the text before it has the same tokens alone, so that they need not be counted.
    """
    if not _is_text(tokens):
        return None
    whole = "".join(tokens)
    # Some servers show the token that begins every text.
    begin = 1 if tokens[0] and whole == tokens[0] + text else 0
    if not begin and whole != text:
        return None
    for place in range(begin, len(tokens)):
        if length <= 0:
            return place if length == 0 else None
        length -= len(tokens[place])
    return None


def _is_text(tokens: Sequence[Any]) -> bool:
    return bool(tokens) and all(isinstance(token, str) and "\ufffd" not in token for token in tokens)


def _sum(read: _Read, begin: int) -> tuple[float, bool]:
    values, best = read.values[begin:], read.best[begin:]
    if not values:
        raise Failed("no token belongs to the continuation alone, so it has no probability of its own", "value_missing")
    if values[0] is None:
        raise Failed(
            "the server does not tell how probable the first token of a text is; name what stands before such texts, "
            "as in prefix_token='<|endoftext|>'",
            "value_missing",
        )
    total = 0.0
    greedy = True
    for value, most in zip(values, best, strict=True):
        if not isinstance(value, int | float) or not isinstance(most, dict) or not most:
            raise Failed("the server left out the log-probability of a token", "value_missing")
        total += value
        greedy = greedy and value == max(most.values())
    return total, greedy


def question(context: str, choices: Sequence[str]) -> str:
    """Return a question that is answered with a letter. Raises Failed for more choices than there are letters."""
    if len(choices) > len(string.ascii_uppercase):
        raise Failed(f"{len(choices)} choices are more than there are letters", "environment_invalid")
    options = "\n".join(
        f"{letter}. {choice.strip()}" for letter, choice in zip(string.ascii_uppercase, choices, strict=False)
    )
    begin = f"{context.rstrip()}\n\n" if context.strip() else ""
    return f"{begin}Which of these is the best continuation?\n{options}\n\nAnswer with its letter alone."


def letter(text: str, count: int) -> int | None:
    """Return which of `count` choices a reply names, or None."""
    matches = [_LETTER.match(text.strip()), *reversed(list(_ANSWER.finditer(text)))]
    places = [string.ascii_uppercase.index(found[1]) for found in matches if found]
    return next((place for place in places if place < count), None)
