"""Why a question could not be answered, and what to try."""

from __future__ import annotations

__all__ = ["DecodeError", "Error", "ParseError", "PlanError", "RunError", "SourceError"]


class Error(Exception):
    """Something could not be done. ``hint`` says what to try, ``kind`` what sort of error it is.

    >>> import weir
    >>> try:
    ...     weir.sql("SELECT 1 +")
    ... except weir.Error as error:
    ...     print(error.kind)
    syntax
    """

    kind: str = "run"
    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = str(self.args[0]) if self.args else ""
        return f"{message}\nhint: {self.hint}" if self.hint else message

    def __reduce__(self) -> tuple[type[Error], tuple[str, str | None]]:
        # With its hint into another process and back.
        return type(self), (str(self.args[0]) if self.args else "", self.hint)


class ParseError(Error):
    """The text is not SQL."""

    kind = "syntax"


class PlanError(Error):
    """The statement names what is not there, or combines what does not fit."""

    kind = "plan"


class SourceError(Error):
    """A file could not be opened or understood."""

    kind = "source"


class RunError(Error):
    """The statement failed while it ran, or was read twice."""

    kind = "run"


class DecodeError(Error):
    """A message could not be decoded or encoded."""

    kind = "decode"


_KINDS: dict[str, type[Error]] = {
    of.kind: of for of in (ParseError, PlanError, SourceError, RunError, DecodeError)
}


def of_kind(kind: str, message: str, hint: str | None) -> Error:
    """The exception that the native half raises."""
    return _KINDS.get(kind, Error)(message, hint)
