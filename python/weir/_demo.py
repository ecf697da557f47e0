"""Samples to ask."""

from __future__ import annotations

import os
from pathlib import Path

from weir import _weir
from weir._errors import SourceError

__all__ = ["demo"]


def demo(folder: str | os.PathLike[str] = "demo") -> dict[str, str]:
    """Writes sample captures into a folder: those of ``weir demo``, and ``call.pcap``, a call with its voice. They are
    the same on every machine. Gives what is in each, by its path. A file of such a name that is another stays, and is
    a :class:`weir.SourceError`.

    >>> import weir
    >>> weir.demo()["demo/call.pcap"]
    'a call with its audio, one direction of which loses packets for a third of the call'
    """
    target = Path(folder)
    samples = _weir.demo()
    missing = []
    for name, _, octets in samples:
        path = target / name
        if not path.exists():
            missing.append((path, octets))
        elif path.read_bytes() != octets:
            raise SourceError(
                f"{path} is there, is no sample, and stays as it is", "name another folder"
            )
    target.mkdir(parents=True, exist_ok=True)
    for path, octets in missing:
        # It has its name when it is whole.
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(octets)
        beside.replace(path)
    return {str(target / name): what for name, what, _ in samples}
