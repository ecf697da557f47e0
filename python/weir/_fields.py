"""The columns that there are."""

from __future__ import annotations

from typing import NamedTuple

from weir import _weir

__all__ = ["Field", "fields"]


class Field(NamedTuple):
    """A column: its name in SQL, the table that has it, its type, and what it means."""

    name: str
    table: str
    type: str
    layer: str
    meaning: str
    reference: str


def fields(pattern: str = "") -> list[Field]:
    """The columns whose name, table, layer or meaning has the pattern in it, without regard to case.

    >>> import weir
    >>> {field.type for field in weir.fields("ip.src") if field.name == "ip.src"}
    {'address'}
    """
    wanted = pattern.lower()
    found = (Field(*field) for field in _weir.fields())
    return [
        field
        for field in found
        if any(
            wanted in text.lower()
            for text in (field.name, field.table, field.layer, field.meaning)
        )
    ]
