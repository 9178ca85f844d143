"""Log-probabilities as the fake server gives them: its tokens are words, and their text decides."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mesocosm.testing.dialect import ScriptedAnswer

_TOKEN = re.compile(r"<s>|\s?\S+|\s")
_OTHER = " other"
"""What the fake model would rather have said than an improbable token."""


def token_logprob(before: str, token: str) -> tuple[float, float]:
    """Return the log-probability of a token behind a text, and that of the most probable one there."""
    number = int.from_bytes(hashlib.sha256(f"{before}\0{token}".encode("utf-8", "replace")).digest()[:4], "big")
    own = -0.01 - (number % 4096) / 512
    return own, own if number % 3 else own / 2


def echoed(said: ScriptedAnswer, body: Mapping[str, Any]) -> ScriptedAnswer:
    """Return an answer that begins with the prompt, with log-probabilities if the request asks for them."""
    prompt = body.get("prompt")
    if not body.get("echo") or not isinstance(prompt, str):
        return said
    whole = prompt + said.text
    answer = replace(said, text=whole, completion_tokens=1 if body.get("max_tokens") == 1 else said.completion_tokens)
    if body.get("logprobs") in {None, False}:
        return answer
    tokens = [*_TOKEN.findall(prompt), said.text]
    offsets, values, tops, before = list[int](), list[float | None](), list[dict[str, float] | None](), ""
    for token in tokens:
        own, best = token_logprob(before, token)
        offsets.append(len(before))
        # Nothing stands before the first token, so it has no probability.
        values.append(own if before else None)
        tops.append(({token: own} if own == best else {_OTHER: best, token: own}) if before else None)
        before += token
    found = {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops, "text_offset": offsets}
    return replace(answer, logprobs=found)
