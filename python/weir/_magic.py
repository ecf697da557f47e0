"""``%sql`` and ``%%sql`` in a notebook."""

from __future__ import annotations

import re
from typing import Any

from weir._connection import Connection
from weir._result import Result

__all__ = ["load"]


def load(shell: Any) -> None:
    """Gives the shell the magic. Its statements share a connection; ``$name`` is a variable of the notebook."""
    from IPython.core.magic import no_var_expand

    connection = Connection()

    def sql(line: str, cell: str | None = None) -> Result | None:
        """``%sql QUERY``, or ``%%sql [NAME <<]`` above a query of several lines."""
        name = None
        query = line
        if cell is not None:
            found = re.fullmatch(r"\s*(?:(\w+)\s*<<)?\s*", line)
            if not found:
                raise ValueError("%%sql takes nothing, or NAME <<, beside it")
            name, query = found[1], cell
        result = connection.sql(query, **_used(shell.user_ns, query))
        if name is None:
            return result
        shell.user_ns[name] = result
        return None

    # IPython would put the text of a variable in the place of its name: into SQL, without quotes.
    sql = no_var_expand(sql)
    shell.register_magic_function(sql, magic_kind="line_cell", magic_name="sql")


def _used(variables: dict[str, Any], query: str) -> dict[str, object]:
    """The variables that a query names: values as ``$name``, tables in FROM."""
    used: dict[str, object] = {}
    query = _NO_NAMES.sub(" ", query)
    for name in re.findall(r"\$([A-Za-z_]\w*)", query):
        if name in variables:
            used[name] = variables[name]
    for name in re.findall(r"\b(?:FROM|JOIN)\s+([A-Za-z_]\w*)\b(?!\s*\()", query, re.IGNORECASE):
        if hasattr(variables.get(name), "__arrow_c_stream__"):
            used[name] = variables[name]
    return used


# What stands in quotes or in comments names nothing.
_NO_NAMES = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
