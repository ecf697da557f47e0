"""Runs the README's examples, as far as what they need is there: a word behind ```python names a module.

    python run_readme.py [NEEDED…]

It takes the standard library only, and the package; NEEDED modules have to be there, all others may be.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path


def main() -> int:
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    needed = set(sys.argv[1:])
    ran, left = [], []
    names: dict[str, object] = {}
    failed = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        for found in re.finditer(r"^```python([^\n]*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            modules = found[1].split()
            missing = [name for name in modules if importlib.util.find_spec(name) is None]
            if missing:
                left.append(" ".join(modules))
                continue
            ran += modules
            line = text.count("\n", 0, found.start())
            test = doctest.DocTestParser().get_doctest(found[2], names, "README.md", "README.md", line)
            runner = doctest.DocTestRunner()
            runner.run(test, clear_globs=False)
            names = test.globs
            failed += runner.failures
            tried += runner.tries
        # The folder goes away behind whoever reads in it.
        names.clear()
        os.chdir(before)
    unseen = needed.difference(ran)
    print(f"{tried} examples, {failed} failed; with {', '.join(ran) or 'nothing'}; without {', '.join(left) or 'none'}")
    if unseen:
        print(f"no example ran with {', '.join(sorted(unseen))}")
    return 1 if failed or unseen or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
