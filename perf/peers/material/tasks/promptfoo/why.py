import json
from pathlib import Path

for one in json.loads(Path("run.json").read_text())["results"]["results"]:
    if not one["success"]:
        print(one["vars"], one["response"]["output"])
