"""lm-evaluation-harness by its own runner, in its own interpreter: `lm_eval_runner.py URL COUNT FORM`."""

import re
import sys
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI
from lm_eval.tasks import TaskManager


class Words:
    """A vocabulary of words, so that contexts have a length; the server gets texts."""

    eos_token = ""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words: list[str] = []

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the words of a text."""
        found = re.findall(r"\s?\S+|\s", text)
        for word in found:
            if word not in self._numbers:
                self._numbers[word] = len(self._words)
                self._words.append(word)
        return [self._numbers[word] for word in found]

    def batch_decode(self, rows: list[list[int]]) -> list[str]:
        """Return the texts of numbers."""
        return ["".join(self._words[one] for one in row) for row in rows]


class Texts(LocalCompletionsAPI):
    """Completions of texts, whose tokens are words."""

    eos_string = None

    def tok_encode(self, string: Any, **_: Any) -> Any:
        """Return the numbers of the words of a text, or of several."""
        return self.tokenizer.encode(string) if isinstance(string, str) else list(map(self.tokenizer.encode, string))

    def decode_batch(self, tokens: list[list[int]]) -> list[str]:
        """Return the texts of numbers."""
        return self.tokenizer.batch_decode(tokens)


url, count, form = sys.argv[1:]
common = {"model": "m", "num_concurrent": 16, "max_retries": 1}
if form == "texts":
    model: Any = LocalChatCompletion(base_url=f"{url}/v1/chat/completions", **common)
else:
    model = Texts(base_url=f"{url}/v1/completions", tokenizer_backend=None, tokenized_requests=False, **common)
    model.tokenizer = Words()
results = simple_evaluate(
    model=model,
    tasks=[f"perf_{form}"],
    limit=int(count),
    bootstrap_iters=0,
    task_manager=TaskManager(include_path=".", include_defaults=False),
    apply_chat_template=form == "texts",
)
print(results["results"])
