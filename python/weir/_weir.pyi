"""The native half of weir: not for use by itself, and not stable."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final, final

__all__ = [
    "Answer",
    "Batch",
    "ClfWriter",
    "Engine",
    "VERSION",
    "chart_choose",
    "chart_is_amount",
    "chart_slots",
    "clf_convert",
    "datafusion_version",
    "demo",
    "fields",
    "h248_check",
    "h248_compare",
    "h248_convert",
    "h248_detect",
    "h248_show",
    "interfaces",
    "sip_ladder",
    "sip_parse",
    "tables",
    "ws_advise",
    "ws_study",
]

VERSION: Final[str]

_Fault = tuple[str, str, str | None]
_Report = tuple[list[_Fault], list[str], int, int, int, int, bool]

@final
class Batch:
    """Some rows of an answer, which every library that knows Arrow takes without a copy."""

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Answer:
    @property
    def columns(self) -> list[tuple[str, str]]: ...
    @property
    def is_unread(self) -> bool: ...
    def schema_capsule(self) -> object: ...
    def stream(self, foreign: bool) -> object: ...
    def next_batch(self) -> Batch | None: ...
    def peek(self, rows: int) -> list[Batch]: ...
    def close(self) -> None: ...
    def damage(self) -> _Report: ...
    def take_failure(self) -> BaseException | None: ...

@final
class Engine:
    def __new__(
        cls,
        threads: int | None = None,
        memory_limit: int | None = None,
        root: str | PathLike[str] | None = None,
        time_zone: str | None = None,
        interface: str | None = None,
    ) -> Engine: ...
    def plan(
        self,
        sql: str,
        values: Mapping[str, object] | None = None,
        explain: bool | None = None,
        copy: tuple[str, str | None, bool] | None = None,
    ) -> tuple[Answer, bool]: ...
    def offer(
        self, sql: str, values: Mapping[str, object] | None, keep: object
    ) -> object: ...
    def register(self, name: str, table: object) -> None: ...
    def deregister(self, name: str) -> bool: ...
    def stop(self) -> None: ...

@final
class ClfWriter:
    def __new__(
        cls,
        path: str | PathLike[str],
        form: str,
        headers: Sequence[str],
        body: bool,
        message: bool,
        index: bool,
    ) -> ClfWriter: ...
    def write(
        self, octets: bytes, time_ns: int, source: str | None, destination: str | None
    ) -> None: ...
    def close(self) -> list[tuple[str, int]]: ...

def chart_choose(
    columns: Sequence[tuple[str, str]], rows: int, distinct: Sequence[int], kind: str | None
) -> tuple[str, list[int], list[int], int | None] | None: ...
def chart_is_amount(name: str) -> bool: ...
def chart_slots(values: Sequence[float]) -> tuple[float, float, list[int]] | None: ...
def clf_convert(
    from_: str | PathLike[str], to: str | PathLike[str], form: str
) -> tuple[int, list[tuple[str, int]], list[tuple[int, str]]]: ...
def datafusion_version() -> int: ...
def demo() -> list[tuple[str, str, bytes]]: ...
def fields() -> list[tuple[str, str, str, str, str, str]]: ...
def tables() -> list[str]: ...
def interfaces() -> list[str]: ...
def h248_detect(octets: bytes) -> str | None: ...
def h248_show(
    octets: bytes, encoding: str | None, strict: bool, native: bool, view: str
) -> str: ...
def h248_convert(
    octets: bytes, to: str, encoding: str | None, strict: bool, native: bool, erlang: bool
) -> bytes: ...
def h248_check(octets: bytes) -> list[tuple[bool, str, int | None]]: ...
def h248_compare(
    messages: Sequence[tuple[str, bytes]], microseconds: int
) -> tuple[str, str, str]: ...
def sip_parse(octets: bytes, strict: bool) -> dict[str, Any]: ...
def sip_ladder(
    title: str,
    steps: Sequence[
        tuple[
            int | None,
            str,
            str,
            str | None,
            tuple[int, str] | None,
            tuple[int, str] | None,
            bool,
            bool,
            int | None,
            str | None,
        ]
    ],
    media: Sequence[
        tuple[
            int | None,
            str | None,
            int | None,
            str | None,
            int | None,
            str | None,
            str | None,
            float | None,
            float | None,
        ]
    ],
) -> tuple[str, str, str]: ...
def ws_study(messages: Sequence[tuple[int, bool | None, bool, bytes]]) -> tuple[str, str]: ...
def ws_advise(
    messages: Sequence[tuple[int, bool | None, bool, bytes]],
    connections: int,
    memory: int,
    cores: float | None,
    rate: float | None,
    threshold: int,
) -> tuple[str, str]: ...
