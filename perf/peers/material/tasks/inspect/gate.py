import sys

from inspect_ai import eval

(log,) = eval("sums.py", model="openai/loopback", model_args={"responses_api": False})
sys.exit(log.results.scores[0].metrics["mean"].value < 0.8)
