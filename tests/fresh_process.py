"""Code that runs without this package, as where a SavedModel is served."""

import subprocess
import sys


def last_line(code):
    """The last line that `code` prints in a process that cannot import this package."""
    blocked = "import sys; sys.modules['zoo'] = sys.modules['keras_transformer'] = None\n"
    result = subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True, cwd="/")
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-1]
