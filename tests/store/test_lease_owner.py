"""Whether a process lives is known, or known to be unknown."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mesocosm.core.run import LeaseOwner
from mesocosm.store import lease_owner
from mesocosm.store.lease_owner import alive, this_process

NAME_ITSELF = """
import sys, msgspec
from mesocosm.store.lease_owner import this_process
print(msgspec.json.encode(this_process()).decode(), flush=True)
sys.stdin.read()
"""


def start() -> "tuple[subprocess.Popen[str], LeaseOwner]":
    process = subprocess.Popen([sys.executable, "-c", NAME_ITSELF], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    return process, msgspec.json.decode(process.stdout.readline(), type=LeaseOwner)


def finish(process: "subprocess.Popen[str]") -> None:
    process.communicate()


def test_this_process_lives() -> None:
    assert alive(this_process()) is True


def test_another_process_lives_until_it_ends() -> None:
    process, named = start()

    assert named.pid == process.pid
    assert alive(named) is True
    finish(process)
    assert alive(named) is False


def test_a_killed_process_that_nobody_waited_for_is_dead() -> None:
    process, named = start()

    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert alive(named) is False
    finish(process)


def test_a_process_id_given_to_another_program_is_told_apart() -> None:
    me = this_process()

    assert alive(msgspec.structs.replace(me, started=me.started - 1)) is False


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"boot": "another"}])
def test_a_process_of_another_machine_or_boot_is_unknown(change: dict[str, str]) -> None:
    assert alive(msgspec.structs.replace(this_process(), **change)) is None


def test_without_proc_only_a_missing_process_is_proof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lease_owner, "_PROC", tmp_path)
    lease_owner._boot.cache_clear()
    try:
        me = this_process()
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()

        assert me.started == 0.0
        assert alive(me) is None
        assert alive(msgspec.structs.replace(me, pid=process.pid)) is False
    finally:
        lease_owner._boot.cache_clear()
