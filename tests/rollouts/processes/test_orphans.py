"""What is left when we are killed: nothing."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

OWNER = """
import asyncio, sys
from pathlib import Path
from mesocosm.rollouts.processes.executor import ProcessExecutor

async def main():
    place = ProcessExecutor(Path(sys.argv[1]), "main.py", environment={}, installs=Path(sys.argv[1]))
    await place.open(print)
    await asyncio.sleep(3600)

asyncio.run(main())
"""
ENTRY = "import os\nprint(os.getpid())\nopen('pid', 'w').write(str(os.getpid()))\n"


def test_a_rollout_ends_when_its_owner_is_killed(rollout: Path) -> None:
    source = (rollout / "main.py").read_text()
    (rollout / "main.py").write_text(source.replace("async def main", f"{ENTRY}\n\nasync def main", 1))
    os.mkfifo(rollout / "pid")
    # Who is killed cannot remove his temporary files.
    variables = {**os.environ, "TMPDIR": str(rollout)}
    with subprocess.Popen([sys.executable, "-c", OWNER, str(rollout)], env=variables) as owner:
        pid = int((rollout / "pid").read_text())
        ended = os.pidfd_open(pid)
        try:
            os.kill(owner.pid, signal.SIGKILL)
            assert select.select([ended], [], [], 30)[0]
        finally:
            os.close(ended)
