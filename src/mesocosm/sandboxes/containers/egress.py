"""What a container reaches by HTTP and HTTPS: a proxy for each of its policies, behind one of its doors."""

import asyncio
from collections.abc import Mapping, Sequence

from mesocosm.core.container import NetworkPolicy
from mesocosm.sandboxes.containers.doors import LOOPBACK
from mesocosm.sandboxes.egress_proxy import EgressProxy
from mesocosm.sandboxes.port import free_port


class Egress:
    """The proxies of a container. `hosts` are those of each policy that has one; `policy` is the one that holds."""

    def __init__(self, hosts: Mapping[NetworkPolicy, Sequence[str]], policy: NetworkPolicy) -> None:
        self.policy = policy
        self._proxies = {one: EgressProxy(tuple(allowed)) for one, allowed in hosts.items()}
        self.port = free_port() if self._proxies else 0
        """The port of the door; 0 if no policy has a proxy."""

    @property
    def variables(self) -> dict[str, str]:
        """The variables that lead programs through the proxy; empty if the policy has none."""
        proxy = self._proxies.get(self.policy)
        return {} if proxy is None else {**proxy.variables(self.port), **LOOPBACK}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to the door."""
        proxy = self._proxies.get(self.policy)
        if proxy is not None:
            await proxy.serve(reader, writer)
