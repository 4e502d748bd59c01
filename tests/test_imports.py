"""The arrows of the architecture: who may import whom, and what a bare import loads."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
LIBRARY = sorted(ROOT.glob("keras_transformer/**/*.py"))
ZOO = sorted(ROOT.glob("zoo/**/*.py"))
BACKENDS = {"tensorflow", "tensorflow_text", "tensorflow_datasets", "jax", "torch"}


def imports(path, top_level=False):
    """Dotted names of the modules that a file imports; with `top_level`, while it is itself imported."""
    nodes = [ast.parse(path.read_text("utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not (top_level and isinstance(node, ast.FunctionDef | ast.Lambda)):
            nodes.extend(ast.iter_child_nodes(node))


def roots(path, **kwargs):
    return {name.split(".")[0] for name in imports(path, **kwargs)}


def ids(path):
    return str(path.relative_to(ROOT))


def test_files_are_found():
    assert len(LIBRARY) > 20 and len(ZOO) > 10


@pytest.mark.parametrize("path", LIBRARY, ids=ids)
def test_library_needs_keras_and_numpy_only(path):
    # Inside a function.
    on_tensorflow = "compilation dropout gather once replicas rows updates values"
    lazy = {f"{name}.py": {"tensorflow"} for name in on_tensorflow.split()}
    lazy["determinism.py"] = BACKENDS & {"tensorflow", "jax", "torch"}
    lazy["gradients.py"] = BACKENDS & {"tensorflow", "jax", "torch"}
    optional = {"visualize": {"matplotlib"}}.get(path.parent.name, set())
    backend = lazy.get(path.name, set()) if path.parent.name == "ops" else optional
    assert roots(path) <= {"keras", "numpy", "keras_transformer"} | backend | set(sys.stdlib_module_names)
    assert not BACKENDS & roots(path, top_level=True)
    assert not any(name.startswith("keras.src") for name in imports(path)), "a private Keras path"


@pytest.mark.parametrize("path", LIBRARY, ids=ids)
def test_library_points_down(path):
    """ops -> layers -> the package; decoding and training stand beside layers."""
    folder = path.parent.name
    allowed = {
        "ops": ["ops"],
        "layers": ["ops", "layers"],
        "decoding": ["ops", "decoding"],
        "training": ["ops", "training"],
        "verification": ["ops", "verification"],
        "visualize": ["visualize"],
        "keras_transformer": ["installation", "ops", "layers", "decoding", "training", "verification"],
    }[folder]
    for name in imports(path):
        if name.split(".")[0] == "keras_transformer":
            assert name == "keras_transformer.ops" or name.split(".")[1:2] in [[part] for part in allowed], name


# From the bottom to the top: a part imports parts before it, never one behind it. "zoo" is zoo/__init__.py.
ORDER = [
    "config_checks",
    "config_values",
    "training_config",
    "config",
    "image_config",
    "detection_config",
    "speech_config",
    "extras",
    "quiet",
    "limits",
    "storage",
    "text",
    "zoo",
    "corpora",
    "preparation",
    "tf",
    "models",
    "distribution",
    "serving",
    "conversion",
    "reports",
    "training",
    "commands",
    "classification, labelling, language_modelling, parsing, pretraining, recognition, translation",
    "images",  # Scores classes as classification does.
    "detection",  # Reads images as `images` does.
    "web",
    "__main__",
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names.split(", ")}


def modules():
    """Files of zoo by dotted name."""
    names = {path: path.relative_to(ROOT).with_suffix("").parts for path in ZOO}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for path, parts in names.items()}


def part_of(module):
    return module.split(".")[1] if "." in module else "zoo"


def zoo_imports(path, known):
    """Modules of zoo that a file imports, inside of functions too."""
    return {name for name in imports(path) if name in known and known[name] != path}


def test_every_part_of_zoo_has_a_level():
    assert {part_of(module) for module in modules()} == LEVEL.keys()


@pytest.mark.parametrize("module", modules())
def test_zoo_points_down(module):
    known, own = modules(), part_of(module)
    for name in zoo_imports(known[module], known):
        other = part_of(name)
        assert own == other or LEVEL[other] < LEVEL[own], f"{module} imports {name}"


def test_zoo_has_no_import_cycle():
    known = modules()
    rest = {module: zoo_imports(path, known) for module, path in known.items()}
    while leaves := {module for module, names in rest.items() if not names & rest.keys()}:
        rest = {module: names for module, names in rest.items() if module not in leaves}
    assert not rest, "modules in or above a cycle"


@pytest.mark.parametrize("path", ZOO, ids=ids)
def test_only_the_files_of_a_backend_import_it(path):
    allowed = {"tf": {"tensorflow", "tensorflow_text"}, "on_tensorflow.py": {"tensorflow"}, "on_jax.py": {"jax"}}
    own = allowed.get(path.parent.name, set()) | allowed.get(path.name, set())
    assert BACKENDS & roots(path, top_level=True) <= own


@pytest.mark.parametrize("path", ZOO, ids=ids)
def test_plain_files_of_zoo_need_no_keras(path):
    """Corpora, metrics and recipes can be read and tested without a backend."""
    part, name = path.relative_to(ROOT / "zoo").parts[0], path.name
    if part in (
        "config.py",
        "config_checks.py",
        "config_values.py",
        "detection_config.py",
        "image_config.py",
        "limits.py",
        "speech_config.py",
        "training_config.py",
    ):
        assert roots(path) <= {"zoo", *sys.stdlib_module_names}
    if part in ("text", "corpora") or name in ("data.py", "metrics.py", "recipes.py"):
        assert not {"keras", "keras_transformer"} & roots(path)
    if name == "recipes.py":
        assert {found.split(".")[1] for found in imports(path) if found.startswith("zoo.")} <= {
            "config",
            "detection_config",
            "image_config",
            "speech_config",
            "training_config",
        }


def python(code, *folders, **environment):
    path = os.pathsep.join(map(str, [*folders, ROOT]))
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run([sys.executable, "-c", code], env=environment, cwd="/", capture_output=True, text=True)


@pytest.mark.slow
def test_a_bare_import_loads_no_other_backend():
    """Keras itself loads matplotlib where it is installed; the library must not add to what Keras loads."""
    code = (
        "import sys, keras\n"
        "before = set(sys.modules)\n"
        "import keras_transformer, keras_transformer.training, keras_transformer.decoding\n"
        "print('tensorflow' in sys.modules)\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    result = python(code, KERAS_BACKEND="jax")
    assert result.returncode == 0, result.stderr
    tensorflow, added = result.stdout.strip().splitlines()
    assert tensorflow == "False"
    assert set(added.split()) <= {"keras_transformer"} | set(sys.stdlib_module_names)


# Private attributes of other packages for which there is no public way, each with a test file that fails without it.
PRIVATE = {
    "_keras_mask": "tests/ops/test_masks.py",
    "_untrack_variable": "tests/layers/test_quantization.py",
    "_flatten_layers": "tests/ops/test_sublayers.py",
    "_maybe_symbolic_build": "tests/training/test_replicas.py",
    "_value_specs": "tests/training/test_replicas.py",
    "_layout": "tests/zoo/distribution/test_mesh.py",
    "_loss_tracker": "tests/zoo/training/test_trainer.py",
    "_get_variable_index": "tests/zoo/training/test_optimizers.py",
    "_iterations": "tests/zoo/training/test_optimizers.py",
    "_momentums": "tests/zoo/training/test_optimizers.py",
    "_velocities": "tests/zoo/training/test_optimizers.py",
    "_compute_score_from_stats": "tests/zoo/translation/test_metrics.py",
    "_ci": "tests/zoo/translation/test_metrics.py",
}
DOCUMENTED = {"_replace", "_asdict", "_fields", "_exit"}  # Of named tuples, and of `os`.


def test_private_attributes_of_other_packages():
    """Private names that this package does not define itself, in attributes and in strings, are those above."""
    nodes = [node for path in [*LIBRARY, *ZOO] for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    own = {node.name for node in nodes if isinstance(node, named)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    of_self = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and getattr(node.value, "id", "") == "self"
    }
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    private = {name for name in used if re.fullmatch("_[a-z][a-z_]*", name)}
    found = (
        private - own - of_self - DOCUMENTED - {"_tokens", "_made_by_graph_tokenizers", "_per_second", "_shape"}
    )  # Strings of our own.
    assert found == PRIVATE.keys()
    assert all((ROOT / file).exists() for file in PRIVATE.values())
