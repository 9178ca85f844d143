"""Verify what an agent did: run the tests of a phase, and read the rewards that they leave."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from mesocosm.benchmarks.harbor.events import RecordedContainer
from mesocosm.benchmarks.harbor.folder import Phase
from mesocosm.benchmarks.harbor.rewards import NoReward, read_rewards
from mesocosm.core.container import ContainerCommand
from mesocosm.core.failure import Cause, EpisodeError

LOGS, TESTS = "/logs/verifier", "/tests"
# The agent may have made a link of the folder, or something else than a folder.
_FRESH = (
    'for d in /logs/agent /logs/verifier /logs/artifacts; do if [ -L "$d" ] || [ ! -d "$d" ]; then rm -rf -- "$d"; fi; '
    'mkdir -p -- "$d" && chmod 777 -- "$d" || exit 1; done; '
    "rm -rf -- /logs/verifier/reward.json /logs/verifier/reward.txt"
)
_RUN = f"{TESTS}/test.sh > {LOGS}/test-stdout.txt 2>&1; code=$?; tail -c 16000 {LOGS}/test-stdout.txt; exit $code"
_NO_TESTS = "rm -rf -- /tests && mkdir -p -- /tests"


@dataclass(slots=True)
class VerifierOutcome:
    """What a verifier found: rewards, or the cause why there are none."""

    rewards: dict[str, float] = field(default_factory=dict)
    cause: Cause | None = None
    reason: str = ""
    code: int | None = None


async def make_logs(container: RecordedContainer) -> None:
    """Create the folders for logs, and remove reward files. Raises EpisodeError."""
    made = await container.quietly(_FRESH)
    if made.code:
        raise EpisodeError(
            Cause.ENVIRONMENT_ERROR,
            "the folders /logs cannot be made in the container",
            stderr=made.err.decode(errors="replace"),
        )


async def verify(
    container: RecordedContainer, phase: Phase, env: dict[str, str], *, keep_tests: bool = False
) -> VerifierOutcome:
    """Copy the tests in, run test.sh, and return what it left. Raises EpisodeError if the container has ended.

    Whatever a reward file held before is removed, and what is in /tests too, unless to `keep_tests`, which are those
    of the image. No reward is a cause, never 0.
    """
    container.stage = "verifier"
    await make_logs(container)
    bundled = phase.bundled is not None or phase.own_image
    if not bundled:
        if not keep_tests:
            await container.quietly(_NO_TESTS)
        await _copy_tests(container, phase)
    await container.quietly("chmod +x /tests/test.sh")
    ended = await container.exec(
        ContainerCommand(["sh", "-c", _RUN], user=phase.verifier.user, env=env, seconds=phase.verifier.timeout_sec),
        shown=f"{TESTS}/test.sh",
    )
    if ended.late:
        reason = f"the verifier did not end within {phase.verifier.timeout_sec:g} s"
        return VerifierOutcome(cause=Cause.GRADER_TIMEOUT, reason=reason)
    with tempfile.TemporaryDirectory(prefix="mesocosm-") as place:
        found = Path(place) / "verifier"
        if not await container.get(LOGS, found):
            return VerifierOutcome(cause=Cause.GRADER_ERROR, reason=f"the verifier removed {LOGS}", code=ended.code)
        try:
            return VerifierOutcome(read_rewards(found), code=ended.code)
        except NoReward as error:
            return VerifierOutcome(
                cause=Cause.GRADER_ERROR, reason=f"{error}; test.sh ended with exit code {ended.code}", code=ended.code
            )


async def _copy_tests(container: RecordedContainer, phase: Phase) -> None:
    for folder in phase.tests:
        await container.put(folder, TESTS)
    if phase.script:
        with tempfile.TemporaryDirectory(prefix="mesocosm-") as place:
            script = Path(place) / "test.sh"
            script.write_text(phase.script, encoding="utf-8")
            await container.put(script, f"{TESTS}/test.sh")
