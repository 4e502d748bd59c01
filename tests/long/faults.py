"""What a planted fault is; the other files `faults_*` plant more than 100 of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    """A mistake to plant in a file.

    Args:
        file: The file, from the root of the sources.
        before: Text that occurs once in it.
        after: What to write instead.
        tests: The tests that a developer would run for the file, files or node ids separated by spaces.
        slow: Whether tests marked as slow are among them.
    """

    file: str
    before: str
    after: str
    tests: str
    slow: bool = False

    @property
    def targets(self) -> list[str]:
        """The files or node ids of the tests."""
        return self.tests.split()

    @property
    def folder(self) -> str:
        """The first two folders of the file, or the first one if there is no second."""
        parts = self.file.split("/")
        return "/".join(parts[: min(2, len(parts) - 1)])

    def __str__(self):
        return f"{self.file}: {_one_line(self.before)} -> {_one_line(self.after)}"


def _one_line(text):
    return " ".join(text.split()) or "nothing"
