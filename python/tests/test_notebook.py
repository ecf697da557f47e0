"""What a notebook shows: magics, charts, results."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from pathlib import Path
from typing import Any

import altair
import pytest
import vl_convert
import weir
from IPython.core.interactiveshell import InteractiveShell
from weir import _plot, _weir

VOIP = "demo/voip.pcap"
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> InteractiveShell:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "weir")
    return shell


def test_a_cell_is_a_statement(shell: InteractiveShell) -> None:
    found = shell.run_cell_magic("sql", "", f"SELECT count(*) AS n\nFROM '{VOIP}'\n")
    assert isinstance(found, weir.Result) and found.fetchall()[0][0] > 10
    assert shell.run_cell_magic("sql", " kept << ", "SELECT 1 AS one") is None
    assert shell.user_ns["kept"].fetchall() == [(1,)]
    with pytest.raises(ValueError, match="NAME <<"):
        shell.run_cell_magic("sql", "what is this", "SELECT 1")
    with pytest.raises(weir.PlanError, match="did you mean ip.src"):
        shell.run_cell_magic("sql", "", f"SELECT ip.sr FROM '{VOIP}'")


def test_cells_share_views_and_see_variables(shell: InteractiveShell) -> None:
    import polars

    shell.run_cell_magic("sql", "", f"CREATE VIEW five AS SELECT * FROM '{VOIP}' LIMIT 5")
    assert shell.run_line_magic("sql", "SELECT count(*) FROM five").fetchall() == [(5,)]
    shell.user_ns["hosts"] = polars.DataFrame({"ip": ["10.1.0.5"], "name": ["ann"]})
    shell.user_ns["calls"] = weir.open(VOIP).calls()
    joined = "SELECT DISTINCT name FROM five JOIN hosts ON ip.src = hosts.ip"
    assert shell.run_line_magic("sql", joined).fetchall() == [("ann",)]
    assert shell.run_line_magic("sql", "SELECT count(*) FROM calls").fetchall()[0][0] > 0


def test_a_variable_in_a_line_is_a_value_and_no_text(shell: InteractiveShell) -> None:
    # IPython itself puts texts in the places of names, without quotes.
    text = "x' OR 1 = 1 --"
    shell.user_ns["word"] = text
    assert shell.run_line_magic("sql", "SELECT $word AS w").fetchall() == [(text,)]
    assert shell.run_cell_magic("sql", "", "SELECT $word AS w").fetchall() == [(text,)]
    # What stands in quotes or in a comment is no name.
    plain = "SELECT '$word' AS w -- $word\n/* $word */"
    assert shell.run_cell_magic("sql", "", plain).fetchall() == [("$word",)]


def test_a_cell_is_shown_as_a_table(shell: InteractiveShell) -> None:
    ran = shell.run_cell(f"%%sql\nSELECT frame.number AS n, NULL AS nothing, '<b>' AS text FROM '{VOIP}'")
    assert ran.success
    page = ran.result._repr_html_()
    assert page.count("<tr>") == 21 and "the first 20 rows" in page
    assert "<td>1</td><td></td><td>&lt;b&gt;</td>" in page
    # What was shown is still there to be read.
    assert len(ran.result.fetchall()) > 20


DRAWN = {
    "bars": "SELECT ip.src, ip.proto, count(*) AS packets FROM 'demo/voip.pcap' GROUP BY 1, 2",
    "histogram": "SELECT frame.len FROM 'demo/office.pcapng'",
    "line": "SELECT date_trunc('second', frame.time) AS at, count(*) AS packets, sum(frame.len) AS bytes "
    "FROM 'demo/office.pcapng' GROUP BY 1",
    "heat": "SELECT frame.time, frame.len, ip.len FROM 'demo/office.pcapng' WHERE ip.len IS NOT NULL "
    "UNION ALL SELECT TIMESTAMP '2026-01-01T00:00:00Z', 1, 2 FROM 'demo/office.pcapng'",
}


@pytest.mark.parametrize("kind", DRAWN)
def test_charts_are_chosen_and_drawn(kind: _plot.Kind, tmp_path: Path) -> None:
    result = weir.sql(DRAWN[kind])
    plot = result.plot(title="a title")
    assert plot.kind == kind and repr(plot) == f"<weir.Plot {kind}>"
    # Altair judges it by Vega-Lite's schema, and Vega draws it.
    plot.altair()
    for name in ("x.svg", "x.png", "x.html", "x.json"):
        plot.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    drawn = (tmp_path / "x.svg").read_text()
    assert drawn.startswith("<svg") and "a title" in drawn
    assert json.loads((tmp_path / "x.json").read_text()) == plot.spec
    bundle = plot._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == plot.spec
    assert bundle["image/svg+xml"].startswith("<svg")
    # The rows are still there.
    assert result.fetchall()


@pytest.mark.parametrize("kind", ["line", "bars", "histogram", "heat"])
@pytest.mark.parametrize("of", DRAWN)
def test_another_kind_is_drawn_where_the_columns_allow(kind: _plot.Kind, of: str) -> None:
    try:
        plot = weir.sql(DRAWN[of]).plot(kind)
    except ValueError as error:
        assert "make no chart" in str(error)
        # Without a time there is no heat map, and with one number no line.
        assert (kind, of) in {("heat", "bars"), ("heat", "histogram"), ("line", "histogram"), ("line", "bars")}
        return
    assert plot.kind == kind
    altair.Chart.from_dict(plot.spec)
    assert vl_convert.vegalite_to_svg(plot.spec).startswith("<svg")


def test_a_chart_says_what_it_leaves_out() -> None:
    many = weir.sql("SELECT frame.number AS id, frame.len FROM 'demo/office.pcapng'").plot(rows=100)
    assert many.spec["title"]["subtitle"] == [
        "the first 100 rows are drawn",
        "the first 60 of 100 rows are drawn",
    ]
    assert len(many.spec["data"]["values"]) == 60
    nulls = weir.sql("SELECT ip.len FROM 'demo/office.pcapng'").plot()
    assert re.fullmatch(r"[\d,]+ rows without a value are left out", nulls.spec["title"]["subtitle"][0])
    for query in ("SELECT 1 AS n WHERE false", "SELECT 'a' AS name", "SELECT [1, 2] AS l, 'x' AS y"):
        with pytest.raises(ValueError):
            weir.sql(query).plot()
    with pytest.raises(ValueError, match="not the name of a chart"):
        nulls.save("x.gif")


def test_a_chart_has_the_figures_of_its_rows() -> None:
    rows = weir.sql(DRAWN["bars"]).fetchall()
    values = weir.sql(DRAWN["bars"]).plot().spec["data"]["values"]
    assert sorted(value["y"] for value in values) == sorted(float(row[-1]) for row in rows)
    of = weir.sql(DRAWN["histogram"])
    values = of.plot().spec["data"]["values"]
    assert sum(value["rows"] for value in values) == len(of.fetchall())
    line = weir.sql(DRAWN["line"])
    spec = line.plot().spec
    # Packets and bytes are of very different sizes: each has its axis.
    assert len(spec["layer"]) == 2 and spec["resolve"] == {"scale": {"y": "independent"}}
    assert len(spec["data"]["values"]) == 2 * len(line.fetchall())


TYPES = [
    ("frame.time", "time"),
    ("at", "time"),
    ("ip.src", "text"),
    ("name", "text"),
    ("udp.port", "uint"),
    ("id", "int"),
    ("packets", "uint"),
    ("bytes", "int"),
    ("loss", "float"),
    ("took", "duration"),
    ("price", "decimal"),
    ("yes", "bool"),
    ("raw", "bytes"),
    ("list", "list"),
    ("struct", "struct"),
]


def test_the_page_of_serve_chooses_the_same(tmp_path: Path) -> None:
    """`chart.js` is the same rule in another language: both choose alike, whatever the columns."""
    web = ROOT / "crates/weir-serve/web"
    script = (web / "chart.js").read_text()
    script = script.replace('import uPlot from "./vendor/uPlot.js";', "const uPlot = {};")
    script = script.replace('import { colour, h, s } from "./dom.js";', "const [colour, h, s] = [];")
    (tmp_path / "chart.js").write_text(script)
    (tmp_path / "format.js").write_text((web / "format.js").read_text())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    chance = random.Random(2026)
    cases: list[dict[str, Any]] = []
    for _ in range(1000):
        columns = [chance.choice(TYPES) for _ in range(chance.randrange(1, 6))]
        spread = chance.choice([1, 3, 20, 200])
        rows = [
            [None if chance.random() < 0.1 else _value(kind, chance.randrange(spread)) for _, kind in columns]
            for _ in range(chance.choice([0, 1, 2, 10, 70]))
        ]
        cases.append({"columns": [{"name": n, "type": t} for n, t in columns], "rows": rows})
    numbers = [
        [chance.choice([chance.random() * 10**chance.randrange(-3, 6), float(chance.randrange(30))])
         for _ in range(chance.randrange(1, 200))]
        for _ in range(300)
    ]
    (tmp_path / "cases.json").write_text(json.dumps([cases, numbers]))
    (tmp_path / "run.js").write_text(
        'import { readFileSync } from "node:fs";\n'
        'import { choose, slots } from "./chart.js";\n'
        'const [cases, numbers] = JSON.parse(readFileSync("cases.json"));\n'
        "const chosen = cases.map((one) => choose(one.columns, one.rows));\n"
        "console.log(JSON.stringify([chosen, numbers.map(slots)]));\n"
    )
    ran = subprocess.run(
        ["node", "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    chosen, slotted = json.loads(ran.stdout)
    kinds = set()
    for case, theirs in zip(cases, chosen, strict=True):
        columns = [_plot.Column(column["name"], column["type"]) for column in case["columns"]]
        ours = _plot.choose(columns, case["rows"])
        assert _as_page(ours) == theirs, case["columns"]
        kinds.add(ours.kind if ours else None)
    assert kinds == {None, "line", "bars", "histogram", "heat"}
    for values, slot in zip(numbers, slotted, strict=True):
        low, width, counts = _weir.chart_slots(values)
        assert (low, width, counts) == (pytest.approx(slot["low"]), pytest.approx(slot["width"]), slot["counts"])


def _value(kind: str, number: int) -> object:
    if kind == "time":
        return f"2026-01-01T00:00:{number % 60:02}.{number:03}Z"
    if kind in ("text", "bytes"):
        return f"v{number}"
    if kind == "bool":
        return number % 2 == 0
    if kind == "list":
        return [number]
    return {"a": number} if kind == "struct" else number


def _as_page(choice: _plot.Choice | None) -> dict[str, Any] | None:
    """A choice as the page writes it."""
    if choice is None:
        return None
    if choice.kind == "heat":
        value = choice.ys[0] if choice.ys else None
        return {"kind": "heat", "x": choice.x[0], "y": choice.by, "value": value}
    if choice.kind == "line":
        return {"kind": "line", "x": choice.x[0], "ys": list(choice.ys), "split": choice.by}
    if choice.kind == "bars":
        return {"kind": "bars", "x": list(choice.x), "ys": list(choice.ys)}
    return {"kind": "histogram", "x": choice.x[0]}


def test_types_are_called_as_the_page_calls_them() -> None:
    """The page has them from `crates/weir-serve/src/http/json.rs`."""
    query = (
        "SELECT 1 AS i, CAST(1 AS BIGINT UNSIGNED) AS u, 1.5 AS f, CAST(1 AS DECIMAL(9, 2)) AS d, true AS b, "
        "TIMESTAMP '2026-01-01T00:00:00Z' AS t, CAST('2026-01-01' AS DATE) AS day, X'00' AS raw, [1] AS l, "
        "'x' AS s, INTERVAL '1 day' AS w"
    )
    kinds = [_plot.kind_of(arrow) for arrow in weir.sql(query).types]
    assert kinds == [
        "int", "uint", "float", "decimal", "bool", "time", "time", "bytes", "list", "text", "duration",
    ]


def test_studies_of_websockets_have_a_table_and_a_plot() -> None:
    messages = ['{"type":"msg","sender":"ann","text":"good morning"}'] * 50
    study = weir.ws.study(messages)
    page = study._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") > 2
    plot = study.plot()
    plot.altair()
    assert vl_convert.vegalite_to_svg(plot.spec).startswith("<svg")


def test_the_tutorial_runs_and_shows_what_it_shows(tmp_path: Path) -> None:
    """`WEIR_BLESS=1` writes its outputs anew."""
    import nbformat
    from nbclient import NotebookClient

    path = ROOT / "docs/notebooks/first-look.ipynb"
    stored = nbformat.read(path, as_version=4)
    executed = nbformat.from_dict(json.loads(json.dumps(stored)))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(Path(weir.__file__).parent.parent)
    try:
        client = NotebookClient(
            executed, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        )
        client.execute()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
    for cell in executed.cells:
        cell.metadata.pop("execution", None)
    if os.environ.get("WEIR_BLESS"):
        executed.metadata["language_info"] = {"name": "python"}
        path.write_text(nbformat.writes(executed) + "\n")
        return
    plots = 0
    for was, now in zip(stored.cells, executed.cells, strict=True):
        told = [_told(cell) for cell in (was, now)]
        assert told[0] == told[1], now.source
        plots += sum(bool(output.get("data", {}).get(_plot._MIME)) for output in now.get("outputs", []))
    # From a capture to a plot of a call's quality.
    assert plots >= 1
    assert (tmp_path / "quality.svg").read_text().startswith("<svg")


def _told(cell: Any) -> list[Any]:
    """What a cell shows, but for pictures, whose making is another's."""
    told = []
    for output in cell.get("outputs", []):
        data = {kind: value for kind, value in output.get("data", {}).items() if kind != "image/svg+xml"}
        told.append((output["output_type"], output.get("text"), data))
    return told


def test_what_the_page_for_newcomers_names_is_there(home: Path) -> None:
    """Each expression of weir in the tables of the page, over a capture of the demo."""
    page = (ROOT / "docs/guide/from-scapy-pyshark-nfstream.md").read_text()
    names = {"weir": weir, "f": VOIP, "data": Path(VOIP).read_bytes(), "result": weir.sql("SELECT 1")}
    ran = 0
    for line in page.splitlines():
        cells = line.split(" | ")
        if len(cells) != 2 or not line.startswith("| "):
            continue
        for code in re.findall(r"`([^`]+)`", cells[1]):
            code = code.replace("'f'", f"'{VOIP}'").replace("WHERE …", "WHERE true").replace("…", "frame.number", 1)
            if code.startswith("for ") and "live" not in code:
                exec(f"{code}: break", dict(names))
            elif code.startswith("weir.") and "live" not in code and "fields" not in code:
                eval(code, dict(names))
            elif code.startswith("SELECT"):
                weir.sql(code.replace("frame.number FROM flows", "flow.id FROM flows"))
            elif code.startswith("WHERE"):
                table = f"flows('{VOIP}')" if "proto" in code else f"'{VOIP}'"
                weir.sql(f"SELECT 1 FROM {table} {code.split(':')[0]}")
            else:
                continue
            ran += 1
    assert ran >= 10
