"""Packets as they cross an interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weir._connection import Connection
from weir._weir import Batch, interfaces

__all__ = ["Live", "interfaces", "live"]


class Live:
    """A question for the packets to come: iterate over its batches, until it is closed."""

    def __init__(self, interface: str, query: str, parameters: dict[str, object]) -> None:
        self._connection = Connection(_interface=interface)
        self._result = self._connection._answer(query, parameters, ())

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._result.columns

    def __iter__(self) -> Iterator[Batch]:
        return self._result.batches()

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, as they come."""
        return self._result.rows()

    def close(self) -> None:
        """Comes to an end: what iterates gets what came until now, and then the end."""
        self._connection._engine.stop()

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._result.close()


def live(interface: str, query: str, /, **parameters: object) -> Live:
    """Asks the packets of an interface as they come; the table is named ``live``. It takes the privilege
    to capture (root, or ``CAP_NET_RAW``).

    ::

        with weir.live("lo", "SELECT frame.time, ip.src FROM live WHERE udp.dstport = 53") as packets:
            for row in packets.rows():
                print(row)
    """
    return Live(interface, query, parameters)
