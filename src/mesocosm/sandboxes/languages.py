"""Languages of short programs besides Python: what runs them, and what it needs to see.

A program is the last word of its command. A shell puts it into a file where the language needs one, compiles it, and
passes the input on through a pipe, because what opens /dev/stdin finds a socket there otherwise.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProgramLanguage:
    """A language: the program that it needs, and the shell commands with that as `{tool}`."""

    name: str
    tool: str
    script: str

    def path(self) -> Path | None:
        """Return where the needed program is installed, or None."""
        found = shutil.which(self.tool)
        return None if found is None else _resolved(self.tool, Path(found))

    def command(self, tool: Path) -> list[str]:
        """Return the command, without its last word, the source."""
        return ["sh", "-c", self.script.format(tool=tool), "sh"]

    def readable(self, tool: Path) -> Sequence[Path]:
        """Return the folders that the program needs, besides the system's."""
        settings = Path("/etc").glob("java-*") if self.tool == "java" else ()
        return (*settings, *(() if tool.is_relative_to("/usr") else (tool.parents[1],)))


def _resolved(name: str, found: Path) -> Path:
    """Return the program itself, where what is on the path only chooses one."""
    if name == "rustc":
        asked = [str(found), "--print", "sysroot"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
        inner = Path(done.stdout.strip()) / "bin/rustc"
        return inner if done.returncode == 0 and inner.exists() else found
    return found.resolve()


def _compiled(suffix: str, words: str) -> str:
    return f"printf '%s' \"$1\" >main.{suffix} && {words} </dev/null 1>&2 && cat | ./main"


_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
LANGUAGES = {
    language.name: language
    for language in (
        ProgramLanguage("javascript", "node", 'cat | {tool} -e "$1"'),
        ProgramLanguage("bash", "bash", 'cat | {tool} -c "$1"'),
        ProgramLanguage("c", "gcc", _compiled("c", "{tool} -O1 -std=gnu17 -o main main.c -lm")),
        ProgramLanguage("cpp", "g++", _compiled("cpp", "{tool} -O1 -std=gnu++17 -o main main.cpp")),
        ProgramLanguage("rust", "rustc", _compiled("rs", "{tool} --edition 2021 -O -o main main.rs")),
        ProgramLanguage("java", "java", f"printf '%s' \"$1\" >Main.java && cat | {{tool}} {_JAVA} Main.java"),
    )
}
