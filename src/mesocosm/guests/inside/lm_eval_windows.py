"""Texts in the tokens of the model, cut to what it takes at once: as `local-completions` of lm-evaluation-harness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import Failed

SHORTEST = 3
"""The least `max_length`: a token that stands before, one that is rated, and one that the server writes."""


@dataclass(frozen=True)
class Window:
    """One request: its prompt (a text, or a list of lists of tokens), its tokens, and how many stand before."""

    prompt: Any
    tokens: Sequence[int]
    before: int


def written(answer: Mapping[str, Any]) -> int:
    """Return how many tokens a server wrote that was asked for one: more where a character has several, or none."""
    said = (answer.get("usage") or {}).get("completion_tokens")
    return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else 1


class Windows:
    """Makes requests of texts with the tokenizer of the model, and reads the answers.

    Everything but the calls is done by the harness's own model: the tokens, what is cut, and what is summed.
    """

    def __init__(self, **given: Any) -> None:
        """Load a tokenizer; `given` are arguments of `local-completions`. Raises Failed."""
        name, backend = given["tokenizer"], given["tokenizer_backend"]
        try:
            from lm_eval.models.openai_completions import LocalCompletionsAPI

            # tiktoken knows a vocabulary by the name of a model of OpenAI.
            own = name if backend == "huggingface" else None
            self._model = LocalCompletionsAPI(base_url="", model=name, **{**given, "tokenizer": own})
        except ModuleNotFoundError as error:
            what = error.name or str(error)
            message = f"tokenizer={name} needs the package {what}; install it beside lm_eval"
            raise Failed(message, "environment_invalid") from error
        except Exception as error:
            raise Failed(f"tokenizer={name} cannot be loaded: {error}", "environment_invalid") from error

    def ending(self, context: str, continuation: str) -> Window:
        """Return the request about a text behind another, whose beginning is left out if both are too long.

        Raises Failed if the second is too long by itself.
        """
        model = self._model
        if context == "":
            # As in `TemplateLM.loglikelihood`, which does no more than that with a single pair.
            said, first = model.tok_encode(continuation, add_special_tokens=False), model.prefix_token_id
            pair = (said[:1], said[1:]) if said and said[0] == first else ([first], said)
        else:
            pair = model._encode_pair(context, continuation)
        return self._window(*pair)

    def rolling(self, text: str) -> list[Window]:
        """Return the requests about a whole text: each of its tokens is rated once, behind those of its window."""
        from lm_eval import utils

        model = self._model
        windows = utils.get_rolling_token_windows(
            token_list=model.tok_encode(text),
            prefix_token=model.prefix_token_id,
            max_seq_len=model.max_length - 1,
            context_len=1,
        )
        return [self._window(*utils.make_disjoint_window(one)) for one in windows]

    def context(self, text: str, most: int) -> Any:
        """Return the prompt for a reply of at most so many tokens; a text if requests are texts."""
        model = self._model
        if not model.tokenized_requests:
            return text
        return model.tok_encode(text, add_special_tokens=model.add_bos_token)[-(model.max_length - most) :]

    def read(self, window: Window, answer: Mapping[str, Any]) -> tuple[float, bool]:
        """Return the log-probability of the rated tokens, and whether the model would say them. Raises Failed."""
        said = (answer.get("choices") or [{}])[0].get("logprobs") or {}
        values, tops = (said.get(name) or [] for name in ("token_logprobs", "top_logprobs"))
        here, there = len(window.tokens), len(values) - written(answer)
        if there != here or len(tops) != len(values):
            raise Failed(
                f"the server counts {max(there, 0)} tokens, tokenizer= counts {here}: it is another model's, or the "
                "server puts a token before each text (then say add_bos_token=true)",
                "value_missing",
            )
        # The harness takes off the last value, in the belief that the server has written one token.
        rated = {"token_logprobs": [*values[:here], None], "top_logprobs": [*tops[:here], None]}
        try:
            total, greedy = self._model.parse_logprobs(
                outputs={"choices": [{"index": 0, "logprobs": rated}]}, ctxlens=[window.before]
            )[0]
        except (TypeError, ValueError, KeyError, LookupError, AttributeError) as error:
            raise Failed(f"the server left out the log-probability of a token: {error}", "value_missing") from error
        return float(total), bool(greedy)

    def _window(self, before: list[int], said: list[int]) -> Window:
        model = self._model
        if not said:
            raise Failed(
                "no token belongs to the continuation alone, so it has no probability of its own", "value_missing"
            )
        inputs, lengths, _ = model.batch_loglikelihood_requests([[(("", ""), before, said)]])
        if lengths[0] < 1:
            raise Failed(
                f"the continuation has {len(said)} tokens, and max_length leaves room for {model.max_length - 1}",
                "value_missing",
            )
        return Window(model.create_message(inputs), inputs[0], lengths[0])
