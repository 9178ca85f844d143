"""Shells complete commands and options with the script that `mesocosm completion` prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

COMPLETE = """
source completion.bash
read -ra registered < <(complete -p mesocosm)
COMP_WORDS=(mesocosm run local --se) COMP_CWORD=3
"${registered[-2]}" mesocosm
echo "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_an_option_of_a_subcommand(mesocosm: "Invoke", tmp_path: Path) -> None:
    (tmp_path / "completion.bash").write_text(mesocosm("completion", "bash").out)
    program = tmp_path / "mesocosm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mesocosm "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", COMPLETE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("--seeds\n", "")


@pytest.mark.parametrize(("shell", "registers"), [("zsh", "#compdef mesocosm\n"), ("fish", "--command mesocosm ")])
def test_other_shells_get_a_script_of_their_own(mesocosm: "Invoke", shell: str, registers: str) -> None:
    assert registers in mesocosm("completion", shell).out


def test_an_unknown_shell_is_refused(mesocosm: "Invoke") -> None:
    assert mesocosm("completion", "tcsh").code == 2
