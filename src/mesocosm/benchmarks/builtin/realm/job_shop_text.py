"""Parse job shop instances from text, in the two usual formats.

Standard: a line `jobs machines`, then for each job a line of pairs `machine minutes`, with machines counted from 0.
Taillard's: after a line that begins with the numbers of jobs and machines, a block `Times` and a block `Machines` with
one line per job, with machines counted from 1. Lines that begin with # and other lines of words are skipped.
"""

from mesocosm.benchmarks.builtin.realm.job_shop import JobShop, Operation, ShopJob
from mesocosm.core.failure import InvalidInput, Problem

Line = tuple[int, list[int]]


def read_job_shop(file: str, data: bytes) -> JobShop:
    """Return the instance of a text file, without a deadline. Raises InvalidInput naming the line."""
    blocks: dict[str, list[Line]] = {"": []}
    block = ""
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0].lower() in {"times", "machines"}:
            block = words[0].lower()
            blocks[block] = []
        elif all(word.isascii() and word.isdigit() for word in words):
            blocks[block].append((number, [int(word) for word in words]))
        elif blocks[block] or any(word.isdigit() for word in words):
            raise _wrong(file, f"line {number}", "holds something that is not a whole number")
    head = blocks.pop("")
    if not head or len(head[0][1]) < 2:
        raise _wrong(file, f"line {head[0][0] if head else 1}", "must give the number of jobs and of machines")
    jobs, machines = head[0][1][:2]
    rows = _taillard(file, blocks) if blocks else head[1:]
    if not 1 <= jobs <= len(rows):
        raise _wrong(file, "", f"has {len(rows)} lines of jobs where {jobs} are announced")
    return JobShop(tuple(_job(file, i, row, machines) for i, row in enumerate(rows[:jobs])), None)


def _taillard(file: str, blocks: dict[str, list[Line]]) -> list[Line]:
    """Return the rows of a file in Taillard's format as pairs, with machines counted from 0."""
    times, machines = blocks.get("times", []), blocks.get("machines", [])
    if len(times) != len(machines):
        raise _wrong(file, "", f"has {len(times)} lines of times and {len(machines)} of machines")
    rows: list[Line] = []
    for (number, minutes), (_, places) in zip(times, machines, strict=True):
        if len(minutes) != len(places) or min(places, default=1) < 1:
            raise _wrong(file, f"line {number}", "does not fit its line of machines, which are counted from 1")
        rows.append((number, [n for place, time in zip(places, minutes, strict=True) for n in (place - 1, time)]))
    return rows


def _job(file: str, index: int, row: Line, machines: int) -> ShopJob:
    number, words = row
    if len(words) != 2 * machines or any(machine >= machines for machine in words[::2]):
        message = f"must hold {machines} pairs of a machine (0 to {machines - 1}) and its minutes"
        raise _wrong(file, f"line {number}", message)
    pairs = zip(words[::2], words[1::2], strict=True)
    return ShopJob(f"J{index}", tuple(Operation(f"M{machine}", minutes) for machine, minutes in pairs))


def _wrong(file: str, path: str, message: str) -> InvalidInput:
    return InvalidInput(file, [Problem(path, message)])
