"""The end of a run: who is told, and what."""

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.server.notifications.conftest import Place, Receiver

from mesocosm.core.ids import digest
from mesocosm.core.run import Counts, Run, RunStatus
from mesocosm.core.score import MetricResult, Score
from mesocosm.server.notifications.announcements import announce_ended, messages_for
from mesocosm.server.notifications.messages import schedule_message, slack_text, trial_message
from mesocosm.server.schemas.notification import NotificationMessage
from mesocosm.store.schedules import Schedule

if TYPE_CHECKING:
    from tests.server.conftest import Records


async def played(place: Place, records: "Records", right: int, of: int = 40, name: str = "", **given: Any) -> Run:
    """Store a run of `of` rows, the first `right` of which are right; note that it has ended."""
    metric = MetricResult("solved", "mean", right / of, 0.1, 0.9, "wilson", of, of, of, primary=True)
    fields: dict[str, Any] = {
        "kind": "rollout",
        "benchmark": "sums",
        "metrics": (metric,),
        "counts": Counts(of, completed=of),
    } | given
    run = records.run(**fields)
    episodes = [
        records.episode(run, index=row, task_digest=digest(row), scores=(Score("solved", float(row < right)),))
        for row in range(of)
    ]
    await records.write(place.store, run, episodes)
    stored = msgspec.structs.replace(place.store.runs.get(run.id), **{"status": RunStatus.FINISHED} | given)
    stored.metrics = fields["metrics"]
    place.store.runs.save(stored)
    place.ended(stored, **({"name": name} if name else {}))
    return stored


def bodies(place: Place, hook_id: str) -> list[Any]:
    """Return what is queued for a notification, the oldest first."""
    return [json.loads(message.body) for message in reversed(place.store.deliveries.list(hook_id))]


async def test_the_end_of_a_run_says_how_it_ended_and_compares_it_with_the_last_one(
    place: Place, records: "Records"
) -> None:
    earlier = await played(place, records, 10, name="first")
    announce_ended(place.service)
    hook, _ = place.notify("http://127.0.0.1:1/hook")
    run = await played(place, records, 30, name="second")
    assert announce_ended(place.service) == 1
    (message,) = bodies(place, hook.id)
    assert NotificationMessage.model_validate(message)
    data = message["data"]
    assert message["type"] == "run.finished"
    assert (data["run_id"], data["name"], data["status"]) == (run.id, "second", "finished")
    assert data["link"] == f"https://evals.example.org/runs/{run.id}"
    assert (data["workspace"], data["configuration"], data["commit"]) == ("Reefs", "configs/eval/sums.toml", "c" * 40)
    assert data["score"] == {
        "name": "solved",
        "value": 0.75,
        "low": 0.1,
        "high": 0.9,
        "weak": False,
        "n": 40,
        "planned": 40,
    }
    compared = data["compared"]
    assert (compared["run_id"], compared["name"], compared["delta"]) == (earlier.id, "first", 0.5)
    assert 0 < compared["low"] < 0.5 < compared["high"] < 1
    assert compared["verdict"] == "better"


async def test_a_difference_that_could_be_chance_is_a_tie_and_a_lower_score_is_worse(
    place: Place, records: "Records"
) -> None:
    hook, _ = place.notify("http://127.0.0.1:1/hook")
    for right in (20, 21, 2):
        await played(place, records, right)
        announce_ended(place.service)
    first, tie, worse = (message["data"]["compared"] for message in bodies(place, hook.id))
    assert first is None
    assert (tie["verdict"], worse["verdict"]) == ("tie", "worse")


async def test_a_run_of_another_configuration_or_benchmark_is_not_compared(place: Place, records: "Records") -> None:
    await played(place, records, 10)
    hook, _ = place.notify("http://127.0.0.1:1/hook")
    run = await played(place, records, 30, benchmark="other")
    announce_ended(place.service)
    (message, *_) = (one for one in bodies(place, hook.id) if one["data"]["run_id"] == run.id)
    assert message["data"]["compared"] is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (RunStatus.PARTIAL, "run.failed"),
        (RunStatus.FAILED, "run.failed"),
        (RunStatus.STOPPED, "run.stopped"),
    ],
)
async def test_what_did_not_finish_says_so_and_why(
    place: Place, records: "Records", status: RunStatus, kind: str
) -> None:
    hook, _ = place.notify("http://127.0.0.1:1/hook")
    said = f"the model server https://u:p4ss@models.example is away; see {place.service.settings.data_dir}/content/x"
    await played(place, records, 10, status=status, error=said)
    announce_ended(place.service)
    (message,) = bodies(place, hook.id)
    assert (message["type"], message["data"]["status"]) == (kind, status.value)
    assert message["data"]["error"] == "the model server https://u:[redacted]@models.example is away; see …/content/x"


async def test_each_notification_is_told_what_it_asked_for(place: Place, records: "Records") -> None:
    failures, _ = place.notify("http://127.0.0.1:1/a", "failed", name="failures")
    ends, _ = place.notify("http://127.0.0.1:1/b", "finished", "stopped", name="ends", format="slack")
    await played(place, records, 10)
    announce_ended(place.service)
    assert bodies(place, failures.id) == []
    ((message),) = bodies(place, ends.id)
    assert list(message) == ["text"]
    assert announce_ended(place.service) == 0


async def test_other_workspaces_are_told_nothing(place: Place, records: "Records") -> None:
    atolls = place.store.workspaces.add("Atolls", place.ada)
    assert atolls is not None
    own, place.workspace = place.workspace, atolls
    foreign, _ = place.notify("http://127.0.0.1:1/hook")
    place.workspace = own
    await played(place, records, 10)
    assert announce_ended(place.service) == 1
    assert bodies(place, foreign.id) == []


async def test_a_run_that_is_deleted_before_it_is_announced_is_forgotten(place: Place, records: "Records") -> None:
    place.notify("http://127.0.0.1:1/hook")
    run = await played(place, records, 10)
    place.store.runs.delete(run.id)
    assert announce_ended(place.service) == 0


async def test_text_for_slack_is_short_and_says_the_same(place: Place, records: "Records") -> None:
    await played(place, records, 10, name="first")
    hook, _ = place.notify("http://127.0.0.1:1/hook", format="slack")
    announce_ended(place.service)
    run = await played(place, records, 30, name="second")
    announce_ended(place.service)
    lines = bodies(place, hook.id)[-1]["text"].splitlines()
    assert lines[0] == "second finished: solved 0.7500 [0.1000, 0.9000], 40 of 40 scored"
    assert lines[1].startswith("+0.5000 [+0.")
    assert lines[1].endswith("against first: better")
    assert lines[2] == "Reefs · configs/eval/sums.toml · builtin/random · cccccccccccc"
    assert lines[3] == f"https://evals.example.org/runs/{run.id}"


async def test_names_in_text_for_slack_mention_nobody(place: Place, records: "Records") -> None:
    hook, _ = place.notify("http://127.0.0.1:1/hook", format="slack")
    await played(place, records, 1, name="<!channel> @everyone <https://x|y>")
    announce_ended(place.service)
    (message,) = bodies(place, hook.id)
    assert "<" not in message["text"]
    assert "@e" not in message["text"]


async def test_a_run_without_a_score_is_told(place: Place, records: "Records") -> None:
    metric = MetricResult("solved", "mean", None, None, None, "wilson", 3, 0, 3, {"model_rejected": 3}, primary=True)
    hook, _ = place.notify("http://127.0.0.1:1/hook", format="slack")
    await played(place, records, 0, 3, status=RunStatus.FAILED, metrics=(metric,), error="no key", name="third")
    announce_ended(place.service)
    (message,) = bodies(place, hook.id)
    assert message["text"].splitlines()[:2] == ["third failed: no solved, 0 of 3 scored", "no key"]


def test_a_refused_schedule_is_told_to_those_who_asked(place: Place) -> None:
    place.notify("http://127.0.0.1:1/hook", "failed", name="failures")
    hook, _ = place.notify("http://127.0.0.1:1/hook", "schedule", name="schedules")
    schedule = Schedule(id="s", workspace_id=place.workspace.id, name="nightly", configuration="configs/eval/a.toml")
    message = schedule_message(place.workspace, schedule, "ada left", paused=True)
    (queued,) = messages_for(place.service, place.workspace.id, "schedule", message)
    assert queued.notification_id == hook.id
    assert json.loads(queued.body)["data"]["fault"] == "ada left"
    text = slack_text(message).splitlines()
    assert text[1:] == ["ada left", "It is paused until somebody resumes it."]


def test_a_trial_names_the_notification(place: Place) -> None:
    assert slack_text(trial_message(place.workspace, "hook")) == "Test of the notification hook of the workspace Reefs."


async def test_a_message_reaches_its_receiver(place: Place, records: "Records", receiver: Receiver) -> None:
    place.notify(receiver.url)
    run = await played(place, records, 10)
    announce_ended(place.service)
    await place.send()
    (message,) = receiver.received
    assert message.document["data"]["run_id"] == run.id
