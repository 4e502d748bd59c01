"""Runs the Python blocks of a page one after the other in this process, and compares what they print with the page.

python tests/long/readme_blocks.py README.md
"""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile

_BLOCK = re.compile(r"^```(python|output)\n(.*?)^```$", re.M | re.S)


def main() -> int:
    page = pathlib.Path(sys.argv[1]).absolute()
    text, namespace, printed, counts = page.read_text("utf-8"), {"__name__": "__main__"}, "", {"python": 0, "output": 0}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for found in _BLOCK.finditer(text):
            kind, code = found.groups()
            counts[kind] += 1
            if kind == "output":
                if printed.strip() != code.strip():
                    print(f"{page.name} says:\n{code}\nprinted:\n{printed}")
                    return 1
                continue
            with contextlib.redirect_stdout(io.StringIO()) as output:
                line = text.count("\n", 0, found.start(2))
                exec(compile("\n" * line + code, page, "exec"), namespace)
            printed = output.getvalue()
        os.chdir("/")
    print(f"{counts['python']} Python blocks ran, {counts['output']} outputs are as printed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
