import json
from pathlib import Path

for line in next(Path("results").rglob("samples_*.jsonl")).open():
    sample = json.loads(line)
    if not sample["exact_match"]:
        print(sample["doc"]["question"], sample["target"], sample["resps"])
