"""SQL over network captures and signalling, in one pass, as Arrow.

>>> import weir
>>> weir.sql("SELECT count(*) AS packets FROM 'demo/voip.pcap' WHERE udp.dstport = 5060").columns
['packets']

- :func:`sql` asks; the :class:`Result` gives pyarrow, Polars, pandas, DuckDB or plain Python its rows;
- :func:`connect` keeps views, settings and data frames of your own; :func:`open` puts questions together without
  writing SQL as a whole; :func:`live` asks packets as they come; :func:`fields` lists the columns;
- :mod:`weir.sip`, :mod:`weir.h248`, :mod:`weir.ws` and :mod:`weir.clf` are the libraries beside.

What is wrong is a :class:`Error` with ``kind`` and ``hint``; damage in files is a :class:`DamageWarning`, and stands
in :attr:`Result.damage`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from weir._connection import Connection, connect, sql
from weir._damage import Damage, DamageWarning, Fault
from weir._demo import demo
from weir._errors import DecodeError, Error, ParseError, PlanError, RunError, SourceError
from weir._fields import Field, fields
from weir._live import Live, interfaces, live
from weir._relation import Capture, Grouped, Relation, open
from weir._result import Result
from weir._values import Duration, Interval, Timestamp
from weir._weir import VERSION as __version__
from weir._weir import Batch

if TYPE_CHECKING:
    from weir import clf, h248, sip, ws
    from weir._plot import Plot

__all__ = [
    "Batch",
    "Capture",
    "Connection",
    "Damage",
    "DamageWarning",
    "DecodeError",
    "Duration",
    "Error",
    "Fault",
    "Field",
    "Grouped",
    "Interval",
    "Live",
    "ParseError",
    "PlanError",
    "Plot",
    "Relation",
    "Result",
    "RunError",
    "SourceError",
    "Timestamp",
    "__version__",
    "clf",
    "connect",
    "demo",
    "fields",
    "h248",
    "interfaces",
    "live",
    "open",
    "sip",
    "sql",
    "ws",
]


#: The libraries beside, which are read when somebody names one: most programs want rows only, and are there sooner.
_LIBRARIES = frozenset({"clf", "h248", "sip", "ws"})


def __getattr__(name: str) -> Any:
    if name in _LIBRARIES:
        return importlib.import_module(f"weir.{name}")
    if name == "Plot":
        return importlib.import_module("weir._plot").Plot
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LIBRARIES, "Plot"})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext weir`` gives a notebook ``%sql`` and ``%%sql``."""
    from weir import _magic

    _magic.load(shell)
