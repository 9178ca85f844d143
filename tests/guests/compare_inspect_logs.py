# mypy: ignore-errors
"""Compare logs as inspect_ai reads them: `python compare_inspect_logs.py ORIGINALS WRITTEN`. Prints JSON.

Every written log is opened whole, by its header, by its summaries and sample by sample.
"""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries


def differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield the places where two documents differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys(), key=str):
            if key not in one or key not in other:
                yield f"{path}.{key} is in one only"
            else:
                yield from differences(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, second, f"{path}[{place}]")
    elif isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return
    elif one != other:
        yield f"{path}: {one!r:.60} {other!r:.60}"


def document(path: Path) -> dict[str, Any]:
    """Return a log with its attachments in place and its samples in order."""
    found = read_eval_log(str(path), resolve_attachments="full").model_dump(mode="python", exclude_none=True)
    found["samples"] = sorted(found.get("samples") or [], key=lambda one: (str(one["id"]), one["epoch"]))
    for name in ("location", "etag"):
        found.pop(name, None)
    return found


def main() -> None:
    """Compare."""
    originals = {log["eval"]["eval_id"]: log for log in map(document, Path(sys.argv[1]).glob("*/*/*.*"))}
    report = {"equal": 0, "opened": 0, "samples": 0, "different": []}
    for path in sorted(Path(sys.argv[2]).glob("*.eval")):
        log = document(path)
        read_eval_log(str(path), header_only=True)
        for one in read_eval_log_sample_summaries(str(path)):
            read_eval_log_sample(str(path), id=one.id, epoch=one.epoch)
            report["samples"] += 1
        report["opened"] += 1
        original = originals.get(log["eval"]["eval_id"])
        if original is not None:
            found = list(differences(original, log))
            report["equal"] += not found
            report["different"] += [f"{original['eval']['task']}{one}" for one in found[:5]]
    print(json.dumps(report))


if __name__ == "__main__":
    main()
