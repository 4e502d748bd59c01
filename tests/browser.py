"""Headless Chromium for tests of pages."""

import json
import pathlib
import shutil

import pytest

SIZES = {"desktop": (1200, 900), "phone": (390, 844)}
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-default-apps --no-pings"
).split()


def open_browser():
    """Returns a driver of Chromium; skips the test if there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def resize(driver, name):
    """Makes the page as wide and high as that of a device."""
    width, height = SIZES[name]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def requested(driver):
    """Returns the addresses that the page has asked for since the last call, but for its own data and blobs."""
    events = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [each["request"]["url"] for each in sent if not each["request"]["url"].startswith(("data:", "blob:"))]


def accessibility_faults(driver):
    """Returns what axe finds wrong: rule, element and explanation."""
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    script = (pathlib.Path(axe.__file__).parent / "axe.min.js").read_text("utf-8")
    driver.execute_script(script)
    found = driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert len(found["passes"]) > 10
    return [
        (rule["id"], node["html"][:200], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
