"""Addresses as users write them."""

from __future__ import annotations

from roadworthy.errors import InputError

__all__ = ["address_of"]


def address_of(text: str, port: int) -> tuple[str, int]:
    """Return the host and port of an address.

    Args:
        text: "host:port", a host or a port.
        port: Where no port is given.

    Raises:
        InputError: It is no address.

    Example:
        >>> address_of("127.0.0.1:4567", 1), address_of("localhost", 9091), address_of("4000", 1)
        (('127.0.0.1', 4567), ('localhost', 9091), ('127.0.0.1', 4000))
    """
    host, colon, tail = text.rpartition(":")
    if not colon:
        host, tail = ("127.0.0.1", text) if text.isdigit() else (text, str(port))
    if not host or not tail.isdigit() or not 0 <= int(tail) < 65536:
        raise InputError(f"expected an address such as 127.0.0.1:{port}, got {text!r}")
    return host, int(tail)
