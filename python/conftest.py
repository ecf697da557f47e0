"""What tests and the examples of the documentation stand on: the demo's captures, made by the program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def _program() -> str:
    """The command line, which values are compared with: of the same build, by preference."""
    program = os.environ.get("WEIR_PROGRAM") or shutil.which("weir")
    if not program:
        pytest.exit("no program weir: WEIR_PROGRAM names it", returncode=3)
    return program


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo in `demo`."""
    folder = tmp_path_factory.mktemp("weir")
    subprocess.run(
        [_program(), "demo", str(folder / "demo")], check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return folder


@pytest.fixture(autouse=True)
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test and every example runs beside the demo."""
    monkeypatch.chdir(home)
    yield


@pytest.fixture(scope="session")
def command_line() -> Callable[[str, Path], None]:
    """Has the command line answer a query into a file."""

    def answer(query: str, path: Path) -> None:
        subprocess.run(
            [_program(), "query", "-q", query, "-o", str(path), "--overwrite"],
            check=True,
            stderr=subprocess.DEVNULL,
        )

    return answer
