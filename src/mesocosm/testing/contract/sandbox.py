"""The contract of a sandbox: core.ports.Sandbox."""

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ports import Process, Sandbox

PATIENCE_S = 60.0


class SandboxContract(ABC):
    """Tests of a sandbox, with small programs in Python."""

    python: str = sys.executable
    """A Python that can be started in the sandbox."""

    @abstractmethod
    def sandbox(self) -> Sandbox:
        """Return the sandbox."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        """Return a directory that every account can read."""
        directory = tmp_path / "place"
        directory.mkdir(mode=0o755)
        return directory

    def test_a_program_leaves_its_exit_code_and_its_output(self, place: Path) -> None:
        script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
        process = self._finished(script, place)
        assert isinstance(process, Process)
        assert process.returncode == 3
        assert (process.stdout_tail(), process.stderr_tail()) == ("out", "err")

    def test_it_runs_in_its_directory_with_declared_variables(self, place: Path) -> None:
        (place / "here").touch()
        script = "import os; print(os.path.exists('here'), os.environ['PARAMETER'])"
        assert self._finished(script, place, {"PARAMETER": "a b"}).stdout_tail() == "True a b"

    def test_credentials_of_this_process_are_not_passed_on(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOME_API_KEY", "canary")
        assert "canary" not in self._finished("import os; print(os.environ)", place).stdout_tail()

    def test_it_gets_no_input(self, place: Path) -> None:
        assert self._finished("import sys; print(repr(sys.stdin.read()))", place).stdout_tail() == "''"

    def test_a_program_that_does_not_end_is_stopped(self, place: Path) -> None:
        script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on'); time.sleep(600)"

        async def stop() -> int | None:
            process = await self._start(script, place)
            assert process.returncode is None
            await asyncio.wait_for(process.stop(grace=0.1), PATIENCE_S)
            return process.returncode

        assert asyncio.run(stop()) not in {None, 0}

    def test_a_program_that_is_missing_is_a_failure_of_the_sandbox_or_ends_with_an_error(self, place: Path) -> None:
        async def start() -> Process:
            return await self._ended(await self.sandbox().start(["/no/such/program"], cwd=place))

        try:
            process = asyncio.run(start())
        except EpisodeError as error:
            assert error.cause is Cause.SANDBOX_FAILED  # noqa: PT017
        else:
            assert process.returncode not in {None, 0}
            assert "/no/such/program" in process.stderr_tail()

    async def _start(self, script: str, directory: Path, env: Mapping[str, str] | None = None) -> Process:
        return await self.sandbox().start([self.python, "-c", script], cwd=directory, env=env)

    def _finished(self, script: str, directory: Path, env: Mapping[str, str] | None = None) -> Process:
        """Return the process of a script that has ended."""

        async def run() -> Process:
            return await self._ended(await self._start(script, directory, env))

        return asyncio.run(run())

    async def _ended(self, process: Process) -> Process:
        async with asyncio.timeout(PATIENCE_S):
            while process.returncode is None:  # noqa: ASYNC110 - the port has no event of the end
                await asyncio.sleep(0.005)
        await process.stop(grace=0.0)
        return process
