"""P11: job shop scheduling with a deadline."""

from collections.abc import Sequence
from random import Random
from typing import ClassVar

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Family, Infeasible, ProblemCase, need, once_each

MOST_OPERATIONS = 16


class Operation(msgspec.Struct, frozen=True):
    """One step of a job: `minutes` on `machine`."""

    machine: str
    minutes: int


class ShopJob(msgspec.Struct, frozen=True):
    """Operations that run one after the other."""

    name: str
    operations: tuple[Operation, ...]


class JobShop(msgspec.Struct, frozen=True):
    """An instance. Everything must be finished by minute `deadline`, if it is set."""

    jobs: tuple[ShopJob, ...]
    deadline: int | None


class MachineOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The order in which a machine takes the jobs; a job that needs it several times is listed as often."""

    machine: str
    jobs: tuple[str, ...]


class MachinePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plan."""

    sequences: tuple[MachineOrder, ...]


class JobShopFamily(Family[JobShop, MachinePlan]):
    """Job shop; solved by branch and bound over active schedules (Giffler and Thompson, 1960)."""

    instance: ClassVar[type[JobShop]] = JobShop
    plan: ClassVar[type[MachinePlan]] = MachinePlan
    example = '{"sequences": [{"machine": "M1", "jobs": ["J2", "J1", "..."]}, "..."]}'
    rules = (
        "Schedule the jobs on the machines. The operations of a job run in their order, each on its machine for its "
        "`minutes`, without interruption; a machine works on one operation at a time. Everything begins at minute 0 "
        "at the earliest. Give for every machine the order in which it takes the jobs; every operation then starts as "
        "soon as its job's operation before it and the machine's operation before it are finished. Orders that wait "
        "for each other in a circle are worthless, and so is a schedule that ends after `deadline` where one is "
        "given. Finish the last operation as early as possible."
    )

    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[JobShop] | None:
        """Return a case of four jobs and three machines, with a deadline 20 % after the earliest possible end."""
        del disrupted
        machines = ["M1", "M2", "M3"]
        jobs = tuple(
            ShopJob(f"J{i}", tuple(Operation(name, rng.randint(3, 30)) for name in rng.sample(machines, 3)))
            for i in range(1, 5)
        )
        shop = JobShop(jobs, None)
        plan = self.solve(shop)
        return (
            ProblemCase(msgspec.structs.replace(shop, deadline=int(self.measure(shop, plan) * 1.2))) if plan else None
        )

    def measure(self, instance: JobShop, plan: MachinePlan, first: MachinePlan | None = None) -> float:
        """Return the minute at which the last operation ends."""
        del first
        uses = _uses(instance)
        once_each("machine", (order.machine for order in plan.sequences), uses)
        for order in plan.sequences:
            need(
                sorted(order.jobs) == sorted(uses[order.machine]), f"{order.machine} does not get each job's operation"
            )
        end = _end(instance, {order.machine: order.jobs for order in plan.sequences})
        late = instance.deadline is not None and end > instance.deadline
        need(not late, f"the last operation ends at minute {end}, after the deadline {instance.deadline}")
        return float(end)

    def solve(self, instance: JobShop, first: MachinePlan | None = None) -> MachinePlan | None:
        """Branch and bound over active schedules."""
        del first
        found = _Search(instance)
        found.branch((0,) * len(instance.jobs), (0,) * len(instance.jobs), dict.fromkeys(_uses(instance), 0), ())
        orders: dict[str, list[str]] = {name: [] for name in _uses(instance)}
        for job, machine in found.best:
            orders[machine].append(instance.jobs[job].name)
        plan = MachinePlan(tuple(MachineOrder(name, tuple(jobs)) for name, jobs in orders.items()))
        return plan if self.accepts(instance, plan) else None

    def exact(self, instance: JobShop) -> bool:
        """Up to sixteen operations."""
        return sum(len(job.operations) for job in instance.jobs) <= MOST_OPERATIONS

    def bound(self, instance: JobShop) -> float | None:
        """The longest job, or the load of a machine plus the shortest work before and after it."""
        bounds = [sum(step.minutes for step in job.operations) for job in instance.jobs]
        for machine in _uses(instance):
            load, heads, tails = 0, [], []
            for job in instance.jobs:
                places = [i for i, step in enumerate(job.operations) if step.machine == machine]
                if places:
                    load += sum(job.operations[i].minutes for i in places)
                    heads.append(sum(step.minutes for step in job.operations[: places[0]]))
                    tails.append(sum(step.minutes for step in job.operations[places[-1] + 1 :]))
            bounds.append(load + min(heads) + min(tails))
        return float(max(bounds))

    def free_of_content(self, instance: JobShop) -> Sequence[MachinePlan]:
        """An empty plan, and plans that take jobs in listed or reverse order, or by their earliest operation."""
        uses = _uses(instance)
        steps = sorted((i, job.name, step.machine) for job in instance.jobs for i, step in enumerate(job.operations))
        early = tuple(MachineOrder(name, tuple(job for _, job, machine in steps if machine == name)) for name in uses)
        listed = tuple(MachineOrder(name, tuple(jobs)) for name, jobs in uses.items())
        backwards = tuple(MachineOrder(name, tuple(jobs[::-1])) for name, jobs in uses.items())
        return [MachinePlan(()), MachinePlan(listed), MachinePlan(backwards), MachinePlan(early)]


def _uses(instance: JobShop) -> dict[str, list[str]]:
    """Return for each machine the jobs that need it, once per operation."""
    uses: dict[str, list[str]] = {}
    for job in instance.jobs:
        for step in job.operations:
            uses.setdefault(step.machine, []).append(job.name)
    return dict(sorted(uses.items()))


def _end(instance: JobShop, orders: dict[str, tuple[str, ...]]) -> int:
    """Return the end of the last operation if every machine keeps its order. Raises Infeasible for a cycle."""
    jobs = {job.name: job for job in instance.jobs}
    ready, step = dict.fromkeys(jobs, 0), dict.fromkeys(jobs, 0)
    free, place = dict.fromkeys(orders, 0), dict.fromkeys(orders, 0)
    waiting = list(orders)
    while waiting:
        machine = waiting.pop()
        while place[machine] < len(orders[machine]):
            name = orders[machine][place[machine]]
            operation = jobs[name].operations[step[name]] if step[name] < len(jobs[name].operations) else None
            if operation is None or operation.machine != machine:
                break
            ready[name] = free[machine] = max(ready[name], free[machine]) + operation.minutes
            step[name] += 1
            place[machine] += 1
            if step[name] < len(jobs[name].operations):
                waiting.append(jobs[name].operations[step[name]].machine)
    if any(step[name] < len(job.operations) for name, job in jobs.items()):
        raise Infeasible("the orders of the machines wait for each other in a circle")
    return max(ready.values())


class _Search:
    """The best active schedule so far, as (job, machine) in order of starts."""

    def __init__(self, instance: JobShop) -> None:
        self.jobs = [[(step.machine, step.minutes) for step in job.operations] for job in instance.jobs]
        self.tails = [[sum(minutes for _, minutes in job[i:]) for i in range(len(job) + 1)] for job in self.jobs]
        self.end = 1 << 60
        self.best: tuple[tuple[int, str], ...] = ()

    def branch(
        self,
        steps: tuple[int, ...],
        ready: tuple[int, ...],
        free: dict[str, int],
        taken: tuple[tuple[int, str], ...],
    ) -> None:
        """Branch on every operation that competes for the machine with the earliest possible end."""
        open_jobs = [i for i, job in enumerate(self.jobs) if steps[i] < len(job)]
        if not open_jobs:
            if max(ready) < self.end:
                self.end, self.best = max(ready), taken
            return
        if self._bound(steps, ready, free) >= self.end:
            return
        begins = {i: max(ready[i], free[self.jobs[i][steps[i]][0]]) for i in open_jobs}
        first = min(open_jobs, key=lambda i: (begins[i] + self.jobs[i][steps[i]][1], i))
        machine, limit = self.jobs[first][steps[first]][0], begins[first] + self.jobs[first][steps[first]][1]
        rivals = [i for i in open_jobs if self.jobs[i][steps[i]][0] == machine and begins[i] < limit]
        for i in sorted(rivals, key=lambda i: (-self.tails[i][steps[i]], i)):
            end = begins[i] + self.jobs[i][steps[i]][1]
            self.branch(
                (*steps[:i], steps[i] + 1, *steps[i + 1 :]),
                (*ready[:i], end, *ready[i + 1 :]),
                {**free, machine: end},
                (*taken, (i, machine)),
            )

    def _bound(self, steps: tuple[int, ...], ready: tuple[int, ...], free: dict[str, int]) -> int:
        bound = max(ready[i] + self.tails[i][steps[i]] for i in range(len(self.jobs)))
        for machine, since in free.items():
            work, tail, head = 0, 1 << 60, 1 << 60
            for i, job in enumerate(self.jobs):
                begin = ready[i]
                for place in range(steps[i], len(job)):
                    if job[place][0] == machine:
                        work += job[place][1]
                        head = min(head, begin)
                        tail = min(tail, self.tails[i][place + 1])
                    begin += job[place][1]
            if work:
                bound = max(bound, max(since, head) + work + tail)
        return bound
