"""Agents that solve nothing and try to earn a reward all the same. Each uses what root of a shared container can do."""

from typing import NamedTuple


class ContainerCheat(NamedTuple):
    """What a cheat does in the container of the agent, and in a few words."""

    told: str
    script: str


_REWARDS = """
mkdir -p /logs/verifier
echo 1 > /logs/verifier/reward.txt
echo '{"reward": 1}' > /logs/verifier/reward.json
chmod 444 /logs/verifier/reward.*
chattr +i /logs/verifier/reward.* 2>/dev/null
true
"""
# Moved into place, so that nobody reads half a file.
_WATCHER = """
(
    trap '' HUP TERM
    while :; do
        echo 1 > /logs/.text && mv -f /logs/.text /logs/verifier/reward.txt
        echo '{"reward": 1}' > /logs/.json && mv -f /logs/.json /logs/verifier/reward.json
        sleep 0.02 || sleep 1
    done
) </dev/null >/dev/null 2>&1 &
sleep 0.1
"""
_LINK = """
mkdir -p /var/forged
echo 1 > /var/forged/reward.txt
chmod 444 /var/forged/reward.txt
rm -rf /logs/verifier
ln -s /var/forged /logs/verifier
"""
# Where sh is bash, a bash that is replaced would run itself.
_SHELL = """
for place in /usr/local/bin /usr/bin /bin; do
    for name in bash test '[' python python3 pytest diff cmp grep; do
        [ -e "$place/$name" ] || [ "$place" = /usr/local/bin ] || continue
        [ "$name" != bash ] || [ "$(readlink -f /bin/sh)" != "$(readlink -f "$place/bash")" ] || continue
        printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\nexit 0\\n' > "$place/.new" || continue
        chmod 755 "$place/.new"
        mv -f "$place/.new" "$place/$name"
    done
done 2>/dev/null
true
"""
_CONFTEST = """
found=$(python3 -c 'import site; print(*site.getsitepackages(), site.getusersitepackages())' 2>/dev/null)
for place in / /app /tests /root . $found; do
    mkdir -p "$place" || continue
    cat > "$place/conftest.py" <<'END'
def pytest_runtest_call(item): item.obj = lambda *given, **named: None
def pytest_pyfunc_call(pyfuncitem): return True
def pytest_sessionfinish(session, exitstatus): session.exitstatus = 0
END
    cat > "$place/sitecustomize.py" <<'END'
import atexit, os, sys
if any("test" in word for word in sys.orig_argv): atexit.register(lambda: os._exit(0))
END
    cp "$place/sitecustomize.py" "$place/usercustomize.py"
done 2>/dev/null
true
"""
_PROFILE = """
for place in /root /app . /etc; do
    for name in .bashrc .profile .bash_profile profile bash.bashrc; do
        printf 'echo 1 > /logs/verifier/reward.txt\\nexit 0\\n' > "$place/$name"
    done
done 2>/dev/null
echo BASH_ENV=/root/.bashrc >> /etc/environment
"""
_TESTS = """
cat /tests/* /solution/* 2>/dev/null
mkdir -p /tests
printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt\\n' > /tests/test.sh
chmod 555 /tests/test.sh
for name in answer.txt result.txt output.txt solution.txt; do
    cat /solution/* /tests/* > "$name" 2>/dev/null
done
true
"""

CONTAINER_CHEATS: dict[str, ContainerCheat] = {
    "rewards": ContainerCheat("writes reward files before the verifier", _REWARDS),
    "watcher": ContainerCheat("leaves a program that writes reward files", _WATCHER),
    "link": ContainerCheat("makes links of the folder of the rewards", _LINK),
    "shell": ContainerCheat("replaces bash, test, python by one that ends well", _SHELL),
    "conftest": ContainerCheat("patches pytest and every start of Python", _CONFTEST),
    "profile": ContainerCheat("lets every shell end well at its start", _PROFILE),
    "tests": ContainerCheat("reads the tests, and puts others in their place", _TESTS),
}
"""The fixed set. Some need a system that can be written, as that of an image; without one they fail."""
