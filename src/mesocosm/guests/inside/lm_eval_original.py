"""The own runner of lm-evaluation-harness on the same documents, for comparisons with ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import Failed
from .lm_eval_loading import LmEvalArguments, is_chat, manager_of
from .lm_eval_windows import written
from .model_calls import ModelAddress

_PATIENCE_S = 300
_ENDLESS = 2**31
"""A length that cuts nothing."""

Rows = dict[tuple[str, int], dict[str, dict[str, Any]]]
"""Values by filter and metric, by the name of a task and the number of a document."""


def original_rows(
    source: str,
    given: LmEvalArguments,
    tasks: Mapping[str, Any],
    samples: Mapping[str, Sequence[int]],
    address: ModelAddress,
) -> Rows:
    """Evaluate these documents with `lm_eval.simple_evaluate` and the harness's own models. Raises Failed."""
    if given.choices == "generate":
        raise Failed("choices=generate is ours: its own runner cannot ask with letters", "environment_invalid")
    chats = [name for name in samples if is_chat(tasks[name], given)]
    texts = [name for name in samples if name not in chats]
    found: Rows = {}
    for names, chat in ((chats, True), (texts, False)):
        if names:
            if not chat and given.api == "chat" and any(tasks[one].OUTPUT_TYPE == "generate_until" for one in names):
                raise Failed(
                    "its own runner asks for texts without a template at /v1/completions alone: api=completions",
                    "environment_invalid",
                )
            model = _chat(given, address) if chat else _texts(given, address)
            found |= _evaluated(source, names, given, samples, model)
    return found


def _evaluated(
    source: str, names: Sequence[str], given: LmEvalArguments, samples: Mapping[str, Sequence[int]], model: Any
) -> Rows:
    from lm_eval import simple_evaluate
    from lm_eval.models.openai_completions import LocalChatCompletion

    manager, wanted = manager_of(source, given)
    results: Any = simple_evaluate(
        model=model,
        tasks=list(names) if all(name in manager._index for name in names) else wanted,
        num_fewshot=given.num_fewshot,
        samples={name: list(samples[name]) for name in names},
        bootstrap_iters=0,
        system_instruction=given.system_instruction,
        apply_chat_template=isinstance(model, LocalChatCompletion),
        fewshot_as_multiturn=given.fewshot_as_multiturn,
        gen_kwargs=dict(given.gen_kwargs) or None,
        task_manager=manager,
        fewshot_random_seed=given.seed,
        confirm_run_unsafe_code=given.confirm_run_unsafe_code,
        metadata=given.metadata or None,
    )
    found: Rows = {}
    for name, rows in results["samples"].items():
        for row in rows:
            values = {metric: row[metric] for metric in row["metrics"]}
            found.setdefault((name, row["doc_id"]), {})[row["filter"]] = values
    return found


def _common(address: ModelAddress, path: str) -> dict[str, Any]:
    header = {"Authorization": f"Bearer {address.key}"}
    return {"base_url": f"{address.base_url}{path}", "model": address.model, "header": header, "max_retries": 1}


def _chat(given: LmEvalArguments, address: ModelAddress) -> Any:
    from lm_eval.models.openai_completions import LocalChatCompletion

    return LocalChatCompletion(**_common(address, "/chat/completions"), think_end_token=given.think_end_token or None)


def _texts(given: LmEvalArguments, address: ModelAddress) -> Any:
    """Return its `local-completions`, with the tokenizer that is named, otherwise with the tokens of the server."""
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    common = _common(address, "/completions")
    if not given.tokenizer:
        return _told(common, given.prefix_token, address)
    names = ("tokenizer", "tokenizer_backend", "tokenized_requests", "add_bos_token", "custom_prefix_token_id")
    length = {} if given.max_length is None else {"max_length": given.max_length}
    return LocalCompletionsAPI(**common, **{name: getattr(given, name) for name in names}, **length)


def _told(common: Mapping[str, Any], prefix: str, address: ModelAddress) -> Any:
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    class Told(LocalCompletionsAPI):  # type: ignore[misc]
        """Completions of texts, whose tokens are those of the server's answers."""

        eos_string = None

        def __init__(self) -> None:
            super().__init__(**common, tokenizer_backend=None, tokenized_requests=False, max_length=_ENDLESS)
            self.tokenizer = self
            self._texts: list[str] = []
            self._numbers: dict[str, int] = {}

        @property
        def prefix_token_id(self) -> int:
            if not prefix:
                raise Failed("nothing stands before a text: name it, as in prefix_token='<s>'", "environment_invalid")
            return self._number(prefix)

        def tok_encode(self, string: str, **_: Any) -> list[int]:
            """Return the tokens of a text that nothing stands before but the prefix."""
            return self._split(prefix + string, len(prefix))[1]

        def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
            return self._split(context + continuation, len(context.rstrip()))

        def decode_batch(self, tokens: Any) -> list[str]:
            """Return the texts of tokens."""
            return ["".join(self._texts[one] for one in row) for row in tokens]

        def _number(self, token: str) -> int:
            if token not in self._numbers:
                self._numbers[token] = len(self._texts)
                self._texts.append(token)
            return self._numbers[token]

        def _split(self, text: str, length: int) -> tuple[list[int], list[int]]:
            """Return the tokens of a text before and behind so many characters."""
            before: list[int] = []
            tokens = told_tokens(address, text)
            while tokens and length > 0:
                length -= len(tokens[0])
                before.append(self._number(tokens.pop(0)))
            if length < 0:
                raise Failed("a continuation begins within a token; name the tokenizer, tokenizer=", "value_missing")
            return before, [self._number(token) for token in tokens]

    return Told()


def told_tokens(address: ModelAddress, text: str) -> list[str]:
    """Return the tokens of a text, as the server tells them beside their log-probabilities. Raises Failed."""
    import requests

    body: Any = {"model": address.model, "prompt": text, "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
    headers = {"Authorization": f"Bearer {address.key}"}
    answer = requests.post(f"{address.base_url}/completions", json=body, headers=headers, timeout=_PATIENCE_S).json()
    tokens = (answer["choices"][0].get("logprobs") or {}).get("tokens") or []
    found = [str(token) for token in tokens[: len(tokens) - written(answer)]]
    if "".join(found) != text:
        raise Failed("the server does not tell the tokens of a text; name the tokenizer, tokenizer=", "model_invalid")
    return found
