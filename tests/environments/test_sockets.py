"""Which ports a process listens on."""

import os
import socket
import subprocess
import sys

import pytest

from mesocosm.environments.sockets import PROC, listening_ports

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="this system tells nothing about the sockets of a process")

CHILD = """
import socket, sys
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""


def test_a_listening_socket_of_this_process_is_seen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert port in listening_ports(os.getpid())
    assert port not in listening_ports(os.getpid())


def test_a_socket_over_ipv6_is_seen() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        assert server.getsockname()[1] in listening_ports(os.getpid())


def test_a_listening_grandchild_counts() -> None:
    command = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert listening_ports(process.pid) == {port}
        process.communicate()


def test_a_connected_socket_is_no_listening_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getsockname()[1] not in listening_ports(os.getpid())


def test_a_process_that_is_gone_listens_nowhere() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert listening_ports(process.pid) == frozenset()
