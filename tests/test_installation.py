"""What the wheel installs, and what users see beside the Keras 2 project of the same import name."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
import zlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent
CONFLICT = "Two packages claim the name `keras_transformer`"
ADVICE = "pip uninstall keras-transformer"
PACKAGES = "keras_transformer/", "zoo/"


def run(folder, *arguments):
    """A Python process that finds packages in a folder first, and at last in that of these sources."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd="/", capture_output=True, text=True)


def add_other_distribution(folder):
    info = folder / "keras_transformer-0.40.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keras-transformer\nVersion: 0.40.0\n")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", folder / "wheels", folder], check=True, capture_output=True, timeout=120)
    (found,) = (folder / "wheels").iterdir()
    return found


@pytest.mark.slow
def test_the_wheel_holds_two_packages_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {entry.filename: entry.CRC for entry in archive.infolist()}
    entries = {name.split("/")[0] for name in held}
    metadata = {name for name in entries if name.endswith(".dist-info")}
    assert len(metadata) == 1 and entries - metadata == {"keras_transformer", "zoo"}
    paths = [path for name in PACKAGES for path in (ROOT / name).rglob("*")]
    sources = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    assert {name: crc for name, crc in held.items() if name.startswith(PACKAGES)} == {
        path.relative_to(ROOT).as_posix(): zlib.crc32(path.read_bytes()) for path in sources
    }


@pytest.mark.slow
def test_the_wheel_works_without_a_network_and_without_the_sources(wheel, tmp_path):
    """In an environment that has nothing but the wheel, and the packages that it requires."""
    venv.create(tmp_path / "env", with_pip=False)
    python = str(tmp_path / "env" / "bin" / "python")
    install = ["install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    # Where the required packages are. This package's sources are not: links in a folder that a link names do not count.
    (site / "required.pth").write_text(sysconfig.get_path("purelib"))
    isolated = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    isolated |= {"https_proxy": "http://localhost:9", "http_proxy": "http://localhost:9"}

    def run(*arguments):
        result = subprocess.run([python, *arguments], cwd=tmp_path, env=isolated, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return result.stdout

    where = run("-c", "import keras_transformer, zoo; print(keras_transformer.__file__, zoo.__file__)").split()
    assert all(pathlib.Path(file).is_relative_to(site) for file in where)
    readme = (ROOT / "README.md").read_text("utf-8")
    (command,) = re.findall(r"^python (-m zoo.translation translate --text .*)$", readme, re.MULTILINE)
    assert run(*shlex.split(command)).strip() in readme
    names = "classification/sst2", "translation/multi30k-en-de"  # An adapter on its base, and weights of their own.
    lines = run("-m", "zoo", "check", *names).splitlines()
    assert all(line.startswith("ok") for line in lines) and len(lines) == 2 * len(names)
    assert all(any(f"{name}: answers" in line for line in lines) for name in names)


def test_the_other_distribution_installed_first_is_reported(tmp_path):
    add_other_distribution(tmp_path)
    result = run(tmp_path, "-c", "import keras_transformer")
    last = result.stderr.strip().splitlines()[-1]
    assert result.returncode == 1 and last.startswith(f"ImportError: {CONFLICT}")
    assert "keras-transformer 0.40.0" in last and ADVICE in last


@pytest.mark.parametrize(
    "noted, expected",
    [
        (None, "pip install --force-reinstall --no-deps FOLDER` with the folder of this package's source"),
        (
            {"url": "file:///src/kt.whl", "archive_info": {}},
            "pip install --force-reinstall --no-deps file:///src/kt.whl`",
        ),
        (
            {"url": "file:///src", "dir_info": {"editable": True}},
            "pip install --force-reinstall --no-deps --editable file:///src`",
        ),
    ],
)
def test_advice_names_what_the_package_was_installed_from(tmp_path, noted, expected):
    add_other_distribution(tmp_path)
    info = tmp_path / "keras_transformer_zoo-99.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keras-transformer-zoo\nVersion: 99\n")
    if noted:
        (info / "direct_url.json").write_text(json.dumps(noted))
    assert expected in run(tmp_path, "-c", "import keras_transformer").stderr


@pytest.fixture
def interpreters(tmp_path):
    """Scripts in place of two Pythons, which write the environments they make, and of one that is too old."""
    for name, version in (("one", (3, 11)), ("two", (3, 13)), ("old", (3, 9))):
        path = tmp_path / name
        path.write_text(
            f"""#!{sys.executable}
import pathlib, shutil, sys
sys.version_info = {version}
if sys.argv[1] == "-c":
    exec(sys.argv[2])
elif sys.argv[1:4] == ["-m", "venv", "--clear"]:
    shutil.rmtree(sys.argv[4], ignore_errors=True)
    shutil.copy(__file__, pathlib.Path(sys.argv[4], "bin").mkdir(parents=True) or sys.argv[4] + "/bin/python")
    pathlib.Path(sys.argv[4], "made").write_text({name!r})
"""
        )
        path.chmod(0o755)
    return tmp_path


def test_make_uses_the_python_that_is_named(interpreters):
    def make(*arguments):
        command = ["make", "-C", ROOT, f"VENV={interpreters / 'env'}", "translate", *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHON"}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def made():
        return (interpreters / "env" / "made").read_text()

    result = make(f"PYTHON={interpreters / 'old'}")
    assert result.returncode and "Python 3.11 or later is needed. Received: " in result.stderr
    assert "which is Python 3.9." in result.stderr and not (interpreters / "env").exists()
    for name in ("one", "two"):
        assert make(f"PYTHON={interpreters / name}").returncode == 0 and made() == name
    (interpreters / "env" / "mine").touch()
    assert make(f"PYTHON={interpreters / 'two'}").returncode == make().returncode == 0
    assert (interpreters / "env" / "mine").exists(), "made anew without need"


@pytest.mark.slow
def test_the_other_distribution_installed_last_is_reported(wheel, tmp_path):
    """Its `__init__.py` has replaced that of the library."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "import zoo, warnings; warnings.simplefilter('error'); import zoo.__main__"
    assert not run(tmp_path, "-c", code).stderr
    add_other_distribution(tmp_path)
    (tmp_path / "keras_transformer/__init__.py").write_text("import keras.missing_since_version_3\n")
    result = run(tmp_path, "-c", code)
    assert result.returncode == 0 and f"RuntimeWarning: {CONFLICT}" in result.stderr and ADVICE in result.stderr
    result = run(tmp_path, "-m", "zoo", "doctor")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    (line,) = [line for line in lines if "all-reduce, CPU:0 and CPU:1" in line]
    assert line.startswith("ok") and "the sum is right on each" in line
    (line,) = [line for line in lines if "import name keras_transformer" in line]
    assert line.startswith("FAIL") and CONFLICT in line
