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

from weir._errors import DecodeError, Error, ParseError, PlanError, RunError, SourceError
from weir._weir import VERSION as __version__
from weir._weir import Batch

# As in `typing`, which a program may not need.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from weir import clf, h248, sip, ws
    from weir._connection import Connection, connect, sql
    from weir._damage import Damage, DamageWarning, Fault
    from weir._demo import demo
    from weir._fields import Field, fields
    from weir._live import Live, interfaces, live
    from weir._plot import Plot
    from weir._relation import Capture, Grouped, Relation, open
    from weir._result import Result
    from weir._values import Duration, Interval, Timestamp

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


#: The modules of names that are read when somebody uses one: most programs use few, and are there sooner.
_MODULES = {
    "Capture": "_relation",
    "Connection": "_connection",
    "Damage": "_damage",
    "DamageWarning": "_damage",
    "Duration": "_values",
    "Fault": "_damage",
    "Field": "_fields",
    "Grouped": "_relation",
    "Interval": "_values",
    "Live": "_live",
    "Plot": "_plot",
    "Relation": "_relation",
    "Result": "_result",
    "Timestamp": "_values",
    "connect": "_connection",
    "demo": "_demo",
    "fields": "_fields",
    "interfaces": "_live",
    "live": "_live",
    "open": "_relation",
    "sql": "_connection",
}

#: The libraries beside.
_LIBRARIES = frozenset({"clf", "h248", "sip", "ws"})


def __getattr__(name: str) -> Any:
    if name in _LIBRARIES:
        return importlib.import_module(f"weir.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"weir.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LIBRARIES, *_MODULES})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext weir`` gives a notebook ``%sql`` and ``%%sql``."""
    from weir import _magic

    _magic.load(shell)
