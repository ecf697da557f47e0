"""Looks at a wheel: what is in it, for whom it says it is, and how large it is.

    python check_wheel.py WHEEL [MEGABYTES]
"""

from __future__ import annotations

import re
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

HERE = Path(__file__).parent


def complaints(path: Path, most: float | None) -> list[str]:
    """What is not as it has to be."""
    found = []
    size = path.stat().st_size / 1e6
    if most is not None and size > most:
        found.append(f"{size:.1f} MB, {most:.0f} at most")
    if not re.fullmatch(r"weir-[0-9.]+-cp310-abi3-\w+\.whl", path.name):
        found.append(f"{path.name} is no wheel for the stable interface of CPython 3.10 and later")
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        info = next(name.split("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
        tags = Parser().parsestr(wheel.read(f"{info}/WHEEL").decode()).get_all("Tag") or []
        shipped = wheel.read(f"{info}/RECORD").decode()
    sources = {f"weir/{file.name}" for file in (HERE / "weir").iterdir() if file.suffix in (".py", ".pyi", ".typed")}
    wanted = sources | {"weir/py.typed", "weir/_weir.abi3.so"}
    packed = {name for name in names if not name.startswith(info)}
    if packed != wanted:
        found.append(f"missing: {sorted(wanted - packed)}, too much: {sorted(packed - wanted)}")
    if not all(name in shipped for name in wanted):
        found.append("RECORD does not have every file")
    if metadata["Requires-Python"] != ">=3.10":
        found.append(f"it requires Python {metadata['Requires-Python']}")
    if not all(tag.startswith("cp310-abi3-") for tag in tags) or not tags:
        found.append(f"it is tagged {tags}")
    needed = [need for need in metadata.get_all("Requires-Dist") or [] if "extra ==" not in need]
    if needed:
        found.append(f"it needs {needed}: the engine needs nothing")
    extras = set(metadata.get_all("Provides-Extra") or [])
    if not {"arrow", "pandas", "polars", "duckdb", "plot", "datafusion", "all"} <= extras:
        found.append(f"it has the extras {sorted(extras)}")
    if "# weir for Python" not in str(metadata.get_payload()):
        found.append("it has no README")
    return found


def main() -> int:
    path = Path(sys.argv[1])
    most = float(sys.argv[2]) if len(sys.argv) > 2 else None
    found = complaints(path, most)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB", *found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
