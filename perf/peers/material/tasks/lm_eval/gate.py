import os
import sys

from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
found = simple_evaluate(
    "local-chat-completions",
    {"model": "loopback", "base_url": address, "num_concurrent": 20, "tokenized_requests": False},
    tasks=["sums"],
    task_manager=TaskManager(include_path="."),
    apply_chat_template=True,
)
score = found["results"]["sums"]["exact_match,none"]
print(score)
sys.exit(int(score < 0.8))
