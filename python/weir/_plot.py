"""Charts in Vega-Lite, chosen by the columns: by the rule of ``weir query --plot`` (``crates/weir-page/src/chart.rs``),
which the page of ``weir serve`` has in its own language (``chart.js``; a test holds the two together)."""

from __future__ import annotations

import datetime as dt
import html
import json
import math
import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from weir import _weir
from weir._values import Duration, Timestamp

__all__ = ["Kind", "Plot"]

#: What a plot may be.
Kind = Literal["line", "bars", "histogram", "heat"]

_Row = Sequence[Any]


class Column(NamedTuple):
    """A column as the rule sees it."""

    name: str
    type: str


class Choice(NamedTuple):
    """What is drawn against what, by the numbers of columns."""

    kind: Kind
    x: tuple[int, ...]
    ys: tuple[int, ...] = ()
    #: The column that splits a line into several, or that a heat map has from bottom to top.
    by: int | None = None


class Plot:
    """A chart: a notebook shows it, :meth:`save` writes it, ``spec`` is its Vega-Lite.

    >>> import weir
    >>> plot = weir.sql("SELECT 'a' AS name, 2 AS n UNION ALL SELECT 'b', 3 ORDER BY 1").plot()
    >>> plot.kind
    'bars'
    >>> plot.spec["mark"]["type"]
    'bar'
    """

    def __init__(self, kind: str, spec: dict[str, Any]) -> None:
        self.kind = kind
        self.spec = spec

    def to_json(self) -> str:
        """The chart as Vega-Lite's JSON."""
        return json.dumps(self.spec)

    def altair(self) -> Any:
        """The chart as one of Altair, to go on with; it takes ``weir[plot]``."""
        return _needed("altair").Chart.from_dict(self.spec)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the chart as its name says: ``.json`` is Vega-Lite; ``.svg``, ``.png`` and ``.html`` (which
        needs no network) take ``weir[plot]``."""
        target = Path(path)
        ending = target.suffix.lower()
        if ending == ".json":
            target.write_text(self.to_json() + "\n", encoding="utf-8")
            return
        if ending not in (".svg", ".png", ".html"):
            raise ValueError(f"not the name of a chart: {target.name}; name it .json, .svg, .png or .html")
        convert = _needed("vl_convert")
        if ending == ".png":
            target.write_bytes(convert.vegalite_to_png(self.spec, scale=2))
        elif ending == ".svg":
            target.write_text(convert.vegalite_to_svg(self.spec), encoding="utf-8")
        else:
            target.write_text(convert.vegalite_to_html(self.spec, bundle=True), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<weir.Plot {self.kind}>"

    def _repr_mimebundle_(
        self, include: object | None = None, exclude: object | None = None
    ) -> dict[str, Any]:
        bundle: dict[str, Any] = {_MIME: self.spec, "text/plain": repr(self)}
        try:
            import vl_convert
        except ImportError:
            return bundle
        # For whoever shows no Vega-Lite, such as a notebook that is looked at as a page.
        bundle["image/svg+xml"] = vl_convert.vegalite_to_svg(self.spec)
        return bundle


def _needed(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise ImportError(f"{module} is needed: pip install 'weir[plot]'") from error


def kind_of(arrow: str) -> str:
    """What the rule calls a type of Arrow."""
    for begins, kind in _KINDS:
        if arrow.startswith(begins):
            return kind
    return "text"


# In an order in which no name hides a longer one.
_KINDS = (
    ("UInt", "uint"),
    ("Interval", "duration"),
    ("Int", "int"),
    ("Float", "float"),
    ("Decimal", "decimal"),
    ("Boolean", "bool"),
    ("Timestamp", "time"),
    ("Date", "time"),
    ("Duration", "duration"),
    ("Time", "duration"),
    ("Binary", "bytes"),
    ("LargeBinary", "bytes"),
    ("FixedSizeBinary", "bytes"),
    ("List", "list"),
    ("LargeList", "list"),
    ("FixedSizeList", "list"),
    ("Struct", "struct"),
    ("Map", "struct"),
)
_NUMBERS = ("int", "uint", "float", "decimal", "duration")
_SERIES = 8
_BARS = 60
_MIME = "application/vnd.vegalite.v5+json"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


def is_amount(column: Column) -> bool:
    """True of numbers that count or measure."""
    return column.type in _NUMBERS and _weir.chart_is_amount(column.name)


def choose(columns: Sequence[Column], rows: Sequence[_Row], kind: Kind | None = None) -> Choice | None:
    """Which chart fits the columns of an answer; ``None`` when none does. The rule is that of ``weir query --plot``."""

    def values(of: str) -> str:
        if of in _NUMBERS:
            return "number"
        return "nested" if of in ("list", "struct") else of

    distinct = [len({text(row[at]) for row in rows[:20_000]}) for at in range(len(columns))]
    named = [(column.name, values(column.type)) for column in columns]
    chosen = _weir.chart_choose(named, len(rows), distinct, kind)
    if chosen is None:
        return None
    found, x, ys, by = chosen
    return Choice(cast(Kind, found), tuple(x), tuple(ys), by)


def text(value: object) -> str:
    """A value as a name."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def number(value: Any) -> float | None:
    """A value as an amount: lengths of time in seconds."""
    if value is None:
        return None
    if isinstance(value, Duration):
        return value.ns / 1e9
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float, Decimal)):
        found = float(value)
        return found if math.isfinite(found) else None
    return None


def milliseconds(value: Any) -> float | None:
    """An instant, since 1970."""
    if isinstance(value, Timestamp):
        return value.ns / 1e6
    if isinstance(value, dt.datetime):
        at = value if value.tzinfo is not None else value.replace(tzinfo=dt.timezone.utc)
        return at.timestamp() * 1e3
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day, tzinfo=dt.timezone.utc).timestamp() * 1e3
    return None


def plot(
    names: Sequence[str],
    types: Sequence[str],
    rows: Sequence[_Row],
    more: bool,
    kind: Kind | None,
    title: str | None,
) -> Plot:
    """The chart of an answer."""
    columns = [Column(name, kind_of(arrow)) for name, arrow in zip(names, types)]
    choice = choose(columns, rows, kind)
    if choice is None:
        raise ValueError(
            "no rows to draw"
            if not rows
            else "these columns make no chart of this kind: a line or a heat map needs a time or two numbers, "
            "bars a name and a number, a histogram a number"
        )
    draw: Callable[..., tuple[dict[str, Any], list[str]]] = {
        "line": _line,
        "bars": _bars,
        "histogram": _histogram,
        "heat": _heat,
    }[choice.kind]
    drawn, notes = draw(columns, rows, choice)
    if more:
        notes.insert(0, f"the first {len(rows):,} rows are drawn")
    spec: dict[str, Any] = {"$schema": _SCHEMA, "width": 640, "height": 300, **drawn}
    if title or notes:
        spec["title"] = {"text": title or "", "subtitle": notes, "anchor": "start"}
    return Plot(choice.kind, spec)


def _axis(columns: Sequence[Column], at: int, is_x: bool = True) -> dict[str, Any]:
    """How a column stands along an axis."""
    title = _title(columns[at])
    if columns[at].type == "time":
        # Instants are told as they are everywhere else: in UTC.
        return {"type": "temporal", "scale": {"type": "utc"}, "title": f"{title} (UTC)"}
    return {"type": "quantitative", "title": title, **({"scale": {"zero": False}} if is_x else {})}


def _title(column: Column) -> str:
    return f"{column.name} (s)" if column.type == "duration" else column.name


def _along(columns: Sequence[Column], at: int) -> Callable[[_Row], float | None]:
    read = milliseconds if columns[at].type == "time" else number
    return lambda row: read(row[at])


def _line(
    columns: Sequence[Column], rows: Sequence[_Row], choice: Choice
) -> tuple[dict[str, Any], list[str]]:
    x = choice.x[0]
    along = _along(columns, x)
    notes: list[str] = []
    points: list[dict[str, Any]] = []
    if choice.by is None:
        series = [columns[at].name for at in choice.ys]
        for row in rows:
            place = along(row)
            for name, at in zip(series, choice.ys):
                value = number(row[at])
                if place is not None and value is not None:
                    points.append({"x": place, "series": name, "y": value})
        points.sort(key=lambda point: point["x"])
    else:
        sums: dict[str, float] = {}
        cells: dict[tuple[float, str], float] = {}
        for row in rows:
            place, name = along(row), text(row[choice.by]) or "NULL"
            value = number(row[choice.ys[0]]) or 0.0
            sums[name] = sums.get(name, 0.0) + value
            if place is not None:
                cells[place, name] = cells.get((place, name), 0.0) + value
        series = sorted(sums, key=lambda name: -sums[name])[:_SERIES]
        if len(sums) > len(series):
            notes.append(f"the {_SERIES} largest of {len(sums)} are drawn")
        points = [
            {"x": place, "series": name, "y": value}
            for (place, name), value in sorted(cells.items())
            if name in series
        ]
    tops = [max((abs(p["y"]) for p in points if p["series"] == name), default=0) for name in series]
    shows_points = len({point["x"] for point in points}) <= 40
    mark = {"type": "line", "point": shows_points, "tooltip": True}
    upright = {"type": "quantitative", "title": _title(columns[choice.ys[0]])}
    if len(series) > 1 and choice.by is None:
        upright["title"] = ", ".join(series)
    encoding: dict[str, Any] = {
        "x": {"field": "x", **_axis(columns, x)},
        "y": {"field": "y", **upright},
    }
    if len(series) > 1 or choice.by is not None:
        legend = columns[choice.by].name if choice.by is not None else ""
        encoding["color"] = {"field": "series", "type": "nominal", "title": legend, "sort": series}
    spec: dict[str, Any] = {"data": {"values": points}, "mark": mark, "encoding": encoding}
    # Amounts of very different sizes have an axis each: a line along the bottom tells nothing.
    if choice.by is None and len(series) == 2 and min(tops) > 0 and max(tops) / min(tops) > 8:
        spec = {
            "data": {"values": points},
            "layer": [
                {
                    "transform": [{"filter": {"field": "series", "equal": name}}],
                    "mark": mark,
                    "encoding": {**encoding, "y": {"field": "y", "type": "quantitative", "title": name}},
                }
                for name in series
            ],
            "resolve": {"scale": {"y": "independent"}},
        }
    return spec, notes


def _bars(
    columns: Sequence[Column], rows: Sequence[_Row], choice: Choice
) -> tuple[dict[str, Any], list[str]]:
    values = []
    seen: dict[str, int] = {}
    for row in rows[:_BARS]:
        label = "  ".join(text(row[at]) or "NULL" for at in choice.x)
        seen[label] = seen.get(label, 0) + 1
        # A bar for each row, also where two say the same.
        values.append(
            {
                "name": label if seen[label] == 1 else f"{label} ({seen[label]})",
                "y": number(row[choice.ys[0]]) or 0.0,
            }
        )
    notes = [f"the first {_BARS} of {len(rows):,} rows are drawn"] if len(rows) > _BARS else []
    names = ", ".join(columns[at].name for at in choice.x)
    encoding = {
        "y": {"field": "name", "type": "nominal", "sort": None, "title": names},
        "x": {"field": "y", "type": "quantitative", "title": _title(columns[choice.ys[0]])},
    }
    spec = {
        "data": {"values": values},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": encoding,
        "height": {"step": 18},
    }
    return spec, notes


def _histogram(
    columns: Sequence[Column], rows: Sequence[_Row], choice: Choice
) -> tuple[dict[str, Any], list[str]]:
    at = choice.x[0]
    values = [value for row in rows if (value := number(row[at])) is not None]
    slots = _weir.chart_slots(values)
    if slots is None:
        raise ValueError(f"{columns[at].name} has no numbers to draw")
    low, width, counts = slots
    bars = [
        {"from": low + place * width, "to": low + (place + 1) * width, "rows": count}
        for place, count in enumerate(counts)
    ]
    left = len(rows) - len(values)
    encoding = {
        "x": {
            "field": "from",
            "type": "quantitative",
            "bin": {"binned": True, "step": width},
            "title": _title(columns[at]),
        },
        "x2": {"field": "to"},
        "y": {"field": "rows", "type": "quantitative", "title": "rows"},
    }
    spec = {"data": {"values": bars}, "mark": {"type": "bar", "tooltip": True}, "encoding": encoding}
    return spec, [f"{left:,} rows without a value are left out"] if left else []


def _heat(
    columns: Sequence[Column], rows: Sequence[_Row], choice: Choice
) -> tuple[dict[str, Any], list[str]]:
    assert choice.by is not None, "a heat map has something from bottom to top"
    x, by = choice.x[0], choice.by
    ordered = is_amount(columns[by])
    points: list[tuple[float, Any, float]] = []
    for row in rows:
        place = milliseconds(row[x])
        level: Any = number(row[by]) if ordered else text(row[by]) or "NULL"
        size = 1.0 if not choice.ys else number(row[choice.ys[0]]) or 0.0
        if place is not None and level is not None:
            points.append((place, level, size))
    if not points:
        raise ValueError(f"{columns[x].name} has no times to draw")
    times = sorted({place for place, _, _ in points})
    begin, end = times[0], times[-1]
    gap = min((later - earlier for earlier, later in zip(times, times[1:])), default=0.0)
    steps = max(1, min(160, round((end - begin) / gap) + 1 if gap else 1))
    span = (end - begin) / (steps - 1) if steps > 1 else 1000.0
    sums: dict[Any, float] = {}
    for _, level, size in points:
        sums[level] = sums.get(level, 0.0) + size
    notes = []
    levels = sorted(sums) if ordered else sorted(sums, key=lambda level: -sums[level])
    if not ordered and len(levels) > _LEVELS:
        notes.append(f"the {_LEVELS} largest of {len(levels)} values are drawn")
        levels = levels[:_LEVELS]
    if ordered and len(levels) > _RUNGS:
        base, width = levels[0], (levels[-1] - levels[0]) / _RUNGS
        levels = [base + rung * width for rung in range(_RUNGS)]
        points = [
            (place, levels[min(_RUNGS - 1, math.floor((level - base) / width))], size)
            for place, level, size in points
        ]
    known = set(levels)
    cells: dict[tuple[int, Any], float] = {}
    for place, level, size in points:
        if level in known:
            slot = min(steps - 1, round((place - begin) / span))
            cells[slot, level] = cells.get((slot, level), 0.0) + size
    values = [
        {"x": begin + slot * span, "x2": begin + (slot + 1) * span, "level": level, "value": value}
        for (slot, level), value in cells.items()
    ]
    amount = _title(columns[choice.ys[0]]) if choice.ys else "rows"
    encoding = {
        "x": {"field": "x", **_axis(columns, x)},
        "x2": {"field": "x2"},
        "y": {
            "field": "level",
            "type": "ordinal",
            "title": _title(columns[by]),
            "sort": "descending" if ordered else levels,
            **({"axis": {"labelExpr": "format(datum.value, '.4~g')", "labelOverlap": True}} if ordered else {}),
        },
        # The eye tells apart small amounts better when the scale is that of a root.
        "color": {"field": "value", "type": "quantitative", "title": amount, "scale": {"type": "sqrt"}},
    }
    spec = {"data": {"values": values}, "mark": {"type": "rect", "tooltip": True}, "encoding": encoding}
    return spec, notes


_LEVELS = 24
_RUNGS = 40


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of the same keys as a table of HTML."""
    if not rows:
        return "<p>no rows</p>"
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
