"""Engines with their views, settings and tables."""

from __future__ import annotations

import os
import re
from typing import Any

from weir import _weir
from weir._errors import PlanError
from weir._result import Result

__all__ = ["Connection", "connect", "sql"]


class Connection:
    """Keeps views, settings and registered tables from one statement to the next.

    >>> import weir
    >>> connection = weir.connect()
    >>> connection.execute("CREATE VIEW numbers AS SELECT 1 AS n UNION ALL SELECT 2")
    >>> connection.sql("SELECT sum(n) FROM numbers").fetchall()
    [(3,)]

    What was found damaged is counted for all results of a connection together: read one to its end
    before the next, where that matters.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        root: str | os.PathLike[str] | None = None,
        time_zone: str | None = None,
        _interface: str | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads is 1 or more, not {threads}")
        self._engine = _weir.Engine(
            threads, _bytes(memory_limit), root, time_zone, _interface
        )
        # What the files of registered relations stand in.
        self._keep: list[object] = []

    def sql(self, query: str, /, **parameters: object) -> Result:
        """Plans a text of statements, and gives the answer to the last.

        ``$name`` in the text stands for the value of the parameter of that name: a number, text, an
        address, a date, an instant, bytes, or a list of them in ``IN ($names)``. A parameter that is a table
        (anything with ``__arrow_c_stream__``) or a relation of :func:`weir.open` is named in FROM.

        Values are those of the last statement of the text. What is no query, such as ``COPY … TO``, runs at once.
        """
        return self._answer(query, parameters, ())

    def _answer(
        self, query: str, parameters: dict[str, object], keep: tuple[object, ...]
    ) -> Result:
        values: dict[str, object] = {}
        if parameters:
            from weir._relation import Relation

            for name, value in parameters.items():
                if isinstance(value, Relation):
                    self.create_view(name, value)
                elif hasattr(value, "__arrow_c_stream__"):
                    self.register(name, value)
                else:
                    values[name] = value

        def plan(
            explain: bool | None, copy: tuple[str, str | None, bool] | None
        ) -> _weir.Answer:
            return self._engine.plan(query, values, explain, copy)[0]

        def offer() -> object:
            return self._engine.offer(query, values, (self, *keep))

        answer, is_action = self._engine.plan(query, values)
        # It lives as long as what reads with it.
        result = Result(answer, plan, (self, *keep), offer)
        if is_action:
            result._first(1)
        return result

    def execute(self, query: str, /, **parameters: object) -> None:
        """Runs statements whose answer nobody wants: ``CREATE VIEW``, ``SET``, ``COPY``."""
        for _ in self.sql(query, **parameters).batches():
            pass

    def register(self, name: str, table: object) -> Connection:
        """Makes a data frame or table stand in FROM by this name: anything with ``__arrow_c_stream__``.

        >>> import weir
        >>> connection = weir.connect()
        >>> connection.register("hosts", weir.sql("SELECT '10.0.0.1' AS ip, 'a' AS name")) is connection
        True
        >>> connection.sql("SELECT name FROM hosts WHERE ip = $ip", ip="10.0.0.1").fetchall()
        [('a',)]
        """
        _check_name(name)
        self._engine.register(name, table)
        return self

    def unregister(self, name: str) -> bool:
        """Forgets a table that was registered; false when there was none."""
        return self._engine.deregister(name)

    def create_view(self, name: str, relation: Any) -> None:
        """Makes a relation of :func:`weir.open` stand in FROM by this name."""
        _check_name(name)
        self._keep.append(relation._capture)
        self.execute(f"CREATE OR REPLACE VIEW {name} AS {relation.to_sql()}")

    def close(self) -> None:
        """Ends what reads sources without an end."""
        self._engine.stop()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    *,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    root: str | os.PathLike[str] | None = None,
    time_zone: str | None = None,
) -> Connection:
    """A connection, which keeps views, settings and registered tables.

    ``threads`` is how many a query may use; ``memory_limit`` what groups, sorts and joins may hold
    before they spill to disk, in bytes or as ``"512m"``; ``root`` a folder that statements stay in:
    names of files begin there, and none leads out of it; ``time_zone`` the zone of instants.
    """
    return Connection(
        threads=threads, memory_limit=memory_limit, root=root, time_zone=time_zone
    )


def sql(
    query: str,
    /,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    root: str | os.PathLike[str] | None = None,
    **parameters: object,
) -> Result:
    """Asks in SQL, and gives a :class:`weir.Result`: planned at once, so that what is wrong is raised
    here; read as its rows are asked for, in one pass.

    >>> import weir
    >>> weir.sql("SELECT $a + 1 AS sum", a=41).fetchall()
    [(42,)]

    Files stand in FROM in single quotes: ``weir.sql("SELECT ip.src FROM 'trace.pcap'")``. See
    :meth:`Connection.sql` for parameters and :func:`connect` for the options.
    """
    connection = Connection(threads=threads, memory_limit=memory_limit, root=root)
    return connection._answer(query, parameters, ())


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise PlanError(
            f"{name!r} is no name for a table", "letters, digits and _ make one, no digit first"
        )


_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _bytes(size: int | str | None) -> int | None:
    """Bytes of a size: a number, or text such as ``512m``."""
    if size is None:
        return None
    if isinstance(size, int):
        if size < 1:
            raise ValueError(f"a size is 1 byte or more, not {size}")
        return size
    found = re.fullmatch(r"(\d+)\s*([kmgt]?)(i?b)?", size.strip().lower())
    if not found:
        raise ValueError(f"no size: {size!r}; write 512m or 2g")
    return int(found[1]) * _UNITS[found[2]]
