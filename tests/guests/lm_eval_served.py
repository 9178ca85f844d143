"""lm-evaluation-harness asks a server by its own `local-completions`: `lm_eval_served.py URL KEY FOLDER TASKS [MODEL]`.

The tokens of the server's model are bytes, as those of tests/foreign/tiny_model.py, unless the JSON in MODEL names a
tokenizer. Prints `{TASK: {DOC_ID: [[logprob, greedy], …]}}`; a rolling text has a number alone.
"""

import json
import os
import sys
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.models.openai_completions import LocalCompletionsAPI
from lm_eval.tasks import TaskManager

_BEGIN, _BYTES, _SPACE = 1, 3, 259
"""The numbers of the token that begins a text, of that of the byte 0, and of that of a space."""


class Completions(LocalCompletionsAPI):  # type: ignore[misc]
    """Takes off what the server has written behind a text: of a character, it writes all bytes."""

    eos_string = None

    @staticmethod
    def parse_logprobs(outputs: Any, tokens: Any = None, ctxlens: Any = None, **kwargs: Any) -> Any:
        """Return the log-probabilities of continuations."""
        for answer in outputs:
            more = answer["usage"]["completion_tokens"] - 1
            for name in ("token_logprobs", "top_logprobs") if more > 0 else ():
                del answer["choices"][0]["logprobs"][name][-more:]
        return LocalCompletionsAPI.parse_logprobs(outputs=outputs, tokens=tokens, ctxlens=ctxlens, **kwargs)


class Bytes(Completions):
    """Completions of texts whose tokens are bytes."""

    prefix_token_id = _BEGIN

    def tok_encode(self, string: Any, *_: Any, **__: Any) -> Any:
        """Return the tokens of a text, or of several."""
        if not isinstance(string, str):
            return [self.tok_encode(one) for one in string]
        return [_SPACE if byte == ord(" ") else _BYTES + byte for byte in string.encode()]

    def decode_batch(self, tokens: Any) -> list[str]:
        """Return the texts of tokens."""
        return [bytes(ord(" ") if one == _SPACE else one - _BYTES for one in row).decode() for row in tokens]


url, key, folder, names, *more = sys.argv[1:]
os.environ["OPENAI_API_KEY"] = key
common = {"base_url": f"{url}/completions", "model": "tiny", "max_retries": 1}
if more:
    model: Any = Completions(**common, **{"tokenizer_backend": "huggingface", **json.loads(more[0])})
else:
    model = Bytes(**common, tokenizer_backend=None, tokenized_requests=False)
    model.tokenizer = model
found: Any = simple_evaluate(
    model=model,
    tasks=names.split(","),
    task_manager=TaskManager(include_path=folder, include_defaults=False),
    bootstrap_iters=0,
)
answers: dict[str, Any] = {}
for task, rows in found["samples"].items():
    for row in rows:
        said = [one[0] for one in row["resps"]]
        pairs = [list(one) if isinstance(one, tuple) else one for one in said]
        answers.setdefault(task, {})[str(row["doc_id"])] = pairs
print(json.dumps(answers))
