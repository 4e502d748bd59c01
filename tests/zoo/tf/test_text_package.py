"""Each reason why tensorflow-text cannot be imported is one clear sentence."""

import importlib.metadata
import importlib.util
import sys

import pytest
import tensorflow as tf

from zoo.tf.text_package import import_tensorflow_text


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """`failing(code)` puts a tensorflow_text in place that runs some code when it is imported."""

    def install(code):
        (tmp_path / "tensorflow_text.py").write_text(code, "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "tensorflow_text", raising=False)

    return install


def versions(monkeypatch, **found):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: found[name.replace("-", "_")])


def test_one_built_for_another_tensorflow(failing, monkeypatch):
    """Loading a library with unknown symbols raises this error, which is no ImportError."""
    symbols = (
        "import tensorflow as tf; raise tf.errors.NotFoundError(None, None, '_sentencepiece.so: undefined symbol: _ZN')"
    )
    failing(symbols)
    versions(monkeypatch, tensorflow="2.21.0", tensorflow_text="2.18.1")
    message = "must be built for the installed TensorFlow, 2.21.0. Received: tensorflow-text 2.18.1.*undefined symbol.*"
    with pytest.raises(ImportError, match=message + r"pip install tensorflow-text==2.21.\*") as caught:
        import_tensorflow_text()
    assert "\n" not in str(caught.value) and isinstance(caught.value.__cause__, tf.errors.NotFoundError)


def test_legacy_keras_that_is_not_installed(failing, monkeypatch):
    failing("raise ImportError('Keras cannot be imported. Check that it is installed.')")
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "tf_keras" else find_spec(name))
    with pytest.raises(ImportError, match="Received: TF_USE_LEGACY_KERAS=1 without the package tf_keras. Unset"):
        import_tensorflow_text()


def test_none_at_all(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match=r"needs tensorflow-text. Install it: .*pip install 'tensorflow-text"):
        import_tensorflow_text()
