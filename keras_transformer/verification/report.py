"""Results of the probes, and the report of all of them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Finding:
    """Result of one probe.

    Args:
        probe: Name of the probe.
        passed: Whether the model passed; None if the probe could not run or was not requested.
        difference: Largest difference found, as a share of the largest output; None if the probe has none.
        note: Where the difference is, or why the probe did not run.
    """

    probe: str
    passed: bool | None
    difference: float | None = None
    note: str = ""

    @property
    def result(self) -> str:
        """The result as a word: `passed`, `FAILED` or `not tried`."""
        return {True: "passed", False: "FAILED", None: "not tried"}[self.passed]


@dataclasses.dataclass(frozen=True)
class Report:
    """All findings; `str(report)` is a table of them.

    Args:
        findings: One finding per probe, in order.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no probe failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the probes that failed."""
        return tuple(finding.probe for finding in self.findings if finding.passed is False)

    def __getitem__(self, probe: str) -> Finding:
        return next(finding for finding in self.findings if finding.probe == probe)

    def __str__(self) -> str:
        rows = [("probe", "result", "difference", "")]
        for found in self.findings:
            number = "" if found.difference is None else f"{found.difference:.1e}"
            rows.append((found.probe, found.result, number, found.note))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[3]]).rstrip() for row in rows
        )
