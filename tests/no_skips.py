"""Plugin of pytest for CI: a test that skips for missing data or packages fails.

It does so if KERAS_TRANSFORMER_NO_SKIPS is set. Tests that skip for another reason, such as the backend, still skip.
"""

import os
import re

import pytest

MISSING = re.compile("KERAS_TRANSFORMER_DATA|is not installed|could not import")


def failed(report):
    """Returns the report of a test or of a file; it failed if it skipped for something missing."""
    if os.environ.get("KERAS_TRANSFORMER_NO_SKIPS") and report.skipped and MISSING.search(str(report.longrepr)):
        report.outcome, report.longrepr = "failed", f"skipped in CI: {report.longrepr[-1]}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return failed((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return failed((yield))
