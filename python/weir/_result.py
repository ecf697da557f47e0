"""The answer to a statement."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from weir import _datafusion, _weir
from weir._errors import Error, RunError
from weir._weir import Batch

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from weir._damage import Damage
    from weir._plot import Kind, Plot

__all__ = ["Result"]

_T = TypeVar("_T")


class _Stream:
    """What this package itself hands to a library: the exceptions of its rows come back as they are."""

    def __init__(self, answer: _weir.Answer) -> None:
        self._answer = answer

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.stream(False)

    def __arrow_c_schema__(self) -> object:
        return self._answer.schema_capsule()


class Result:
    """The answer to a statement: planned already, read once, as somebody asks for its rows.

    pyarrow, Polars, DuckDB and pandas take it as it is, since it has ``__arrow_c_stream__``:

    >>> import weir
    >>> result = weir.sql("SELECT 1 AS one, NULL AS nothing")
    >>> result.columns
    ['one', 'nothing']
    >>> result.fetchall()
    [(1, None)]
    """

    def __init__(
        self,
        answer: _weir.Answer,
        plan: Callable[[bool | None, tuple[str, str | None, bool] | None], _weir.Answer],
        keep: tuple[object, ...],
        offer: Callable[[], object],
    ) -> None:
        self._answer = answer
        self._plan = plan
        # What the files that are read stand in.
        self._keep = keep
        self._offer = offer
        self._head: tuple[list[tuple[Any, ...]], bool] | None = None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self._answer.columns]

    @property
    def types(self) -> list[str]:
        """The Arrow types of the columns, as text."""
        return [kind for _, kind in self._answer.columns]

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns as a schema of pyarrow."""
        pyarrow = _needed("pyarrow", "arrow")
        return pyarrow.schema(_Schema(self._answer))

    @property
    def damage(self) -> Damage:
        """What was found damaged until now; all of it, once the result was read to its end."""
        from weir import _damage

        return _damage._of(*self._answer.damage())

    def __arrow_c_schema__(self) -> object:
        return self._answer.schema_capsule()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.stream(True)

    def __datafusion_table_provider__(self, session: object | None = None) -> object:
        """The statement as a table for ``SessionContext.register_table`` of datafusion-python 55: it is asked again
        by each query over the table, which takes along columns, conditions and a limit."""
        _datafusion._check(session)
        return self._offer()

    def _through(self, read: Callable[[_Stream], _T]) -> _T:
        """Has a library read the rows; what ends them is raised as what it is."""
        try:
            return read(_Stream(self._answer))
        except Exception:
            failure = self._answer.take_failure()
            if failure is not None:
                raise failure from None
            raise

    def arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow."""
        pyarrow = _needed("pyarrow", "arrow")
        return self._through(lambda stream: pyarrow.table(stream))

    def reader(self) -> pyarrow.RecordBatchReader:
        """The rows as a reader of pyarrow, batch by batch."""
        pyarrow = _needed("pyarrow", "arrow")
        return pyarrow.RecordBatchReader.from_stream(self)

    def batches(self) -> Iterator[Batch]:
        """The rows batch by batch, in constant memory.

        >>> import weir
        >>> [batch.num_rows for batch in weir.sql("SELECT 1").batches()]
        [1]
        """
        while (batch := self._answer.next_batch()) is not None:
            yield batch

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows one by one, as tuples of Python's values."""
        for batch in self.batches():
            yield from batch.fetchall()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples of Python's values: numbers whole, NULL as ``None``, instants as
        :class:`weir.Timestamp`, lists as lists."""
        return list(self.rows())

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row; ``None`` when there is none. The rest is given up."""
        first = self._first(1)[0]
        self.close()
        return first[0] if first else None

    def pl(self) -> polars.DataFrame:
        """All rows as a data frame of Polars."""
        library = _needed("polars", "polars")
        return cast("polars.DataFrame", self._through(lambda stream: library.DataFrame(stream)))

    def df(self) -> pandas.DataFrame:
        """All rows as a data frame of pandas, with types of Arrow: unsigned numbers of 64 bits, NULL and
        nanoseconds stay what they are."""
        pandas = _needed("pandas", "pandas")
        pyarrow = _needed("pyarrow", "pandas")
        table = self._through(lambda stream: pyarrow.table(stream))
        # pandas computes with text of this form only.
        fields = [
            field.with_type(_plain(pyarrow, field.type)) for field in table.schema
        ]
        table = table.cast(pyarrow.schema(fields))
        return table.to_pandas(types_mapper=pandas.ArrowDtype)

    def to_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Writes the rows as Parquet; the file takes its name when it is whole, in the place of one that is there.
        A capture that is there stays, unless ``overwrite`` says otherwise. Gives the number of rows."""
        return self._copied(os.fspath(path), "PARQUET", overwrite)

    def to_pcap(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> int:
        """Writes the packets of the rows as a capture: ``SELECT *`` of packets, with any WHERE. Gives the
        number of packets. A capture that is there stays unless ``overwrite`` says otherwise."""
        target = os.fspath(path)
        if not target.endswith((".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcap.zst")):
            raise RunError(f"{target} is not the name of a capture", "name it x.pcap or x.pcapng")
        return self._copied(target, None, overwrite)

    def _copied(self, path: str, stored_as: str | None, overwrite: bool) -> int:
        if not self._answer.is_unread:
            # The rows are gone, and are not asked for twice behind the user's back.
            self._answer.stream(False)
        answer = self._plan(None, (path, stored_as, overwrite))
        self._answer.close()
        self._answer = answer
        written = self.fetchall()
        return int(written[0][0]) if written else 0

    def explain(self, analyze: bool = False) -> str:
        """How the statement runs; with ``analyze`` it is run, and counted."""
        answer = self._plan(analyze, None)
        lines = []
        while (batch := answer.next_batch()) is not None:
            lines += [str(row[-1]) for row in batch.fetchall()]
        return "\n".join(lines)

    def close(self) -> None:
        """Gives up the rows that were not read, and ends what reads them."""
        self._answer.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _first(self, count: int) -> tuple[list[tuple[Any, ...]], bool]:
        """The first rows, which stay to be read, and whether there are more."""
        if self._head is None or (len(self._head[0]) < count and self._head[1]):
            rows: list[tuple[Any, ...]] = []
            for batch in self._answer.peek(count + 1):
                rows += batch.fetchall()
            self._head = rows[:count], len(rows) > count
        rows, more = self._head
        return rows[:count], more or len(rows) > count

    def show(self, rows: int = 20, width: int = 40) -> None:
        """Prints the first rows as a table; they stay to be read.

        >>> import weir
        >>> weir.sql("SELECT 1 AS one, 'text' AS two").show()
        one  two
        ---  ----
        1    text
        """
        print(self._text(rows, width))

    def plot(
        self, kind: Kind | None = None, *, title: str | None = None, rows: int = 20_000
    ) -> Plot:
        """A chart of the first ``rows`` rows, which stay to be read: lines over a time, bars of names, a histogram of
        one amount, or a heat map, as the columns say; ``kind`` asks for another. A notebook shows it.

        >>> import weir
        >>> weir.sql("SELECT ip.proto, count(*) AS packets FROM 'demo/voip.pcap' GROUP BY 1").plot()
        <weir.Plot bars>
        """
        first, more = self._first(rows)
        from weir import _plot

        return _plot.plot(self.columns, self.types, first, more, kind, title)

    def _text(self, count: int, width: int) -> str:
        rows, more = self._first(count)
        cells = [[_cell(value, width) for value in row] for row in rows]
        names = [_cell(name, width) for name in self.columns]
        widths = [
            max(len(line[at]) for line in [names, *cells]) for at in range(len(names))
        ]
        lines = [
            "  ".join(cell.ljust(size) for cell, size in zip(line, widths)).rstrip()
            for line in [names, ["-" * size for size in widths], *cells]
        ]
        if more:
            lines.append("…")
        return "\n".join(lines)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}: {kind}" for name, kind in self._answer.columns)
        state = "" if self._answer.is_unread else ", read"
        return f"<weir.Result ({columns}){state}>"

    def _repr_html_(self) -> str:
        """The first rows for a notebook, with what was found damaged; they stay to be read."""
        import html

        names = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        try:
            rows, more = self._first(_ROWS_SHOWN)
        except Error as error:
            return f"<pre>{html.escape(str(error))}</pre>"
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value, 80))}</td>" for value in row) + "</tr>"
            for row in rows
        )
        table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
        if more:
            table += f"<p>the first {len(rows)} rows</p>"
        damage = self.damage
        if damage:
            table += f"<pre>{html.escape(str(damage))}</pre>"
        return table


class _Schema:
    """The columns, for who asks for no rows."""

    def __init__(self, answer: _weir.Answer) -> None:
        self._answer = answer

    def __arrow_c_schema__(self) -> object:
        return self._answer.schema_capsule()


def _needed(module: str, extra: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise ImportError(f"{module} is needed: pip install 'weir[{extra}]'") from error


def _plain(pyarrow: Any, kind: Any) -> Any:
    """The type without views, which pandas cannot compute with."""
    types = pyarrow.types
    if types.is_string_view(kind):
        return pyarrow.large_string()
    if types.is_binary_view(kind):
        return pyarrow.large_binary()
    if types.is_list(kind):
        return pyarrow.list_(_plain(pyarrow, kind.value_type))
    return kind


def _cell(value: object, width: int) -> str:
    if value is None:
        return ""
    text = value.hex() if isinstance(value, bytes) else str(value)
    # What comes from the network steers no terminal.
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= width else text[: width - 1] + "…"


# Rows in a notebook.
_ROWS_SHOWN = 20
