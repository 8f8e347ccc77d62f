"""Sockets to serve on, this machine's own address unless somebody says otherwise; and how a server ends."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Iterator

from memassay.core.errors import EnvironmentProblem, UsageError

STOPS = (signal.SIGTERM, signal.SIGINT)
"""What tells a server to end."""


def listen(host: str, port: int, risk: str, *, allow_remote: bool = False) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Args:
        host: a name or an address of this machine.
        port: to listen on.
        risk: what a server that others can reach would mean, for the refusal: a clause, then what to do instead.
        allow_remote: the network is the user's own, and other machines may come.

    Raises:
        UsageError: the address is not this machine's own loopback and ``allow_remote`` is not given.
        EnvironmentProblem: the address cannot be had.
    """
    try:
        [(family, _, _, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{host!r} is no address of this machine; try 127.0.0.1.") from error
    if not allow_remote and not is_loopback(str(address[0])):
        raise UsageError(
            f"{host} can be reached from other machines and {risk}, or say --allow-remote if the network is yours."
        )
    # Named as TCP, or asyncio leaves Nagle's algorithm on for every connection: an answer then takes 40 ms more.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(256)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise EnvironmentProblem(f"{host}:{port} cannot be served: {reason}; choose another --port.") from error
    return listener


def is_loopback(address: str) -> bool:
    """Whether an IP address can be reached from this machine alone."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


@contextlib.contextmanager
def quiet_stop() -> Iterator[None]:
    """Being told to stop is how a server ends, so the signal that uvicorn hands on after its own end does nothing."""
    before = {number: signal.signal(number, lambda number, frame: None) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
