"""Tables for the sessions of datafusion-python."""

from __future__ import annotations

import sys
from typing import Any

from weir import _weir
from weir._errors import PlanError

__all__: list[str] = []


def _check(session: Any) -> None:
    """Refuses a session of another major version, before anything is handed over: its structures are laid out
    otherwise, and reading them would end the process."""
    wanted = _weir.datafusion_version()
    hint = f"pip install 'datafusion=={wanted}.*', or hand the rows over: ctx.from_arrow(result)"
    module = "datafusion"
    if session is not None:
        module = type(session).__module__.partition(".")[0]
        # Classes of extensions may name no module.
        module = "datafusion" if module == "builtins" else module
    version = str(getattr(sys.modules.get(module), "__version__", ""))
    major = version.partition(".")[0]
    if not version:
        raise PlanError(f"{module} does not say which DataFusion it is", hint)
    if major != str(wanted):
        raise PlanError(
            f"tables go to sessions of DataFusion {wanted}, and {module} is {version}", hint
        )
