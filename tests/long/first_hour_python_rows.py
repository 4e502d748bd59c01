"""What tests/long/first_hour.py types in Python, and with the extras installed, and what it should see."""

from first_hour_rows import EXTRAS, Row
from first_hour_training_rows import FEW, PAIRS, TRANSLATION

_ALTERED = """
import pathlib, shutil, zoo
from zoo.storage import checkpoints
folder = pathlib.Path("altered")
shutil.rmtree(folder, ignore_errors=True)
shutil.copytree(checkpoints.find("classification/sst2-small"), folder)
path = folder / {file!r}
path.write_text(path.read_text("utf-8").replace({old!r}, {new!r}, 1), "utf-8")
print(zoo.load(folder).classify(["A stirring, funny film."]))
"""
_LABELS = '"negative",\n   "positive"', '"positive",\n   "negative"'
_SAVED = """
import shutil, zoo
from zoo.config import ModelConfig
from zoo.models.seq2seq import Seq2Seq
from zoo.translation.predictor import Translator
shutil.rmtree("never-built", ignore_errors=True)
tokenizer = zoo.load("translation/multi30k-en-de").tokenizer
sizes = dict(num_encoder_layers=1, num_decoder_layers=1, hidden_dim=16, intermediate_dim=32, num_heads=2)
config = ModelConfig(vocabulary_size=tokenizer.vocabulary_size, **sizes)
print(Translator(Seq2Seq(config), tokenizer).save("never-built")["parameters"])
print(len(zoo.load("never-built").translate(["a dog"])))
"""
_FITTED = """
import keras, shutil, zoo
from keras_transformer.training import TokenCrossEntropy
shutil.rmtree("fitted", ignore_errors=True)
translator = zoo.load("translation/en-de")
examples = translator.examples(["He has a fever."], ["Er hat Fieber."], batch_size=1)
translator.model.compile(keras.optimizers.SGD(0.001), TokenCrossEntropy())
translator.model.fit(examples, epochs=1, verbose=0)
card = translator.save("fitted")
print("scores" in card, "name" in card, card["derived_from"]["name"])
"""
_LOAD = "import zoo; zoo.load('translation/en-de')"
_LOSS = "import numpy as np; from keras_transformer.training import TokenCrossEntropy; "
PYTHON = [
    Row(
        "swapped labels",
        _ALTERED.format(file="config.json", old=_LABELS[0], new=_LABELS[1]),
        err=r"^ValueError: altered/config\.json does not match its hash in card\.json\.",
        status=1,
        code=True,
    ),
    Row(
        "altered card",
        _ALTERED.format(file="card.json", old="a", new="b"),
        err=r"^ValueError: altered/card\.json ",
        status=1,
        code=True,
    ),
    Row("model never built", _SAVED, out=r"\A[1-9]\d+\n1\n\Z", code=True),
    Row("fit, then save", _FITTED, out=r"\AFalse False translation/en-de\n\Z", code=True),
    Row(
        "id outside of the table",
        "import numpy as np; from keras_transformer import TokenEmbedding; TokenEmbedding(10, 4)(np.array([[-1]]))",
        err=r"^ValueError: (?s:.*)^`token_ids` must hold ids in \[0, 10\)\. Received: ids from -1 to -1\.",
        status=1,
        code=True,
    ),
    Row(
        "label -100",
        f"{_LOSS}TokenCrossEntropy()(np.array([[1, -100]]), np.zeros((1, 2, 5), 'float32'))",
        err=r"^ValueError: .*Received: labels from -100 to -100\. Set `pad_id`",
        status=1,
        code=True,
    ),
    Row(
        "beam_size=2.0",
        f"{_LOAD}.translate(['It is late.'], beam_size=2.0)",
        err="^ValueError: `beam_size` must be an integer. Received: beam_size=2.0.$",
        status=1,
        code=True,
    ),
    Row(
        "a string for a list",
        f"{_LOAD}.translate('It is late.')",
        err="^ValueError: `texts` must be a list of strings. Received: 'It is late.'. Put it into a list.$",
        status=1,
        code=True,
    ),
    Row(
        "name without task",
        "import zoo; zoo.load('sst2')",
        err=r"^ValueError: 'sst2' is neither .*Known names: classification/sst2, ",
        status=1,
        code=True,
    ),
    Row("no start-up log", f"{_LOAD}.translate(['It is late.'])", out=r"\A\Z", err=r"\A\Z", code=True),
]

WITH_EXTRAS = [
    Row(
        EXTRAS,
        ". .venv/bin/activate && pip install --editable '.[train,text,parsing,draw]' && ls && cd / && "
        "python -c 'import zoo; print(zoo.__file__)'",
        out=r"(?s)\A(?!.*^build$).*^\S*/repository/zoo/__init__\.py\n\Z",
        at_home=True,
    ),
    Row("check", "python -m zoo check", out=r"\A(ok .*\n)+\Z", err=r"\A\Z", after=EXTRAS),
    Row(
        "parse",
        'python -m zoo.parsing parse --text "I saw it."',
        out=r"\A\(TOP .* I\).* saw\).* it\).*\)\n\Z",
        after=EXTRAS,
    ),
    Row(
        "train with BLEU",
        f"{TRANSLATION} {PAIRS} --set training.score=bleu {FEW} --output runs/bleu",
        err=r"(?s)^dev: BLEU \d.*^written: runs/bleu/checkpoint$",
        after=EXTRAS,
    ),
    Row(
        "picture",
        "python -m zoo.classification evaluate --data texts-sst2.tsv --picture confusion.png && ls",
        out=r"(?s)^accuracy \d.*^confusion\.png$",
        after=EXTRAS,
    ),
    Row(
        "picture in no folder",
        "python -m zoo.classification evaluate --data texts-sst2.tsv --picture nowhere/confusion.png",
        err=r"\Aerror: .*nowhere/confusion\.png\. Create its folder first\.\n\Z",
        status=2,
        after=EXTRAS,
    ),
    Row(
        "export",
        "python -m zoo.classification export --output served && ls served",
        out="^saved_model.pb$",
        err="^written: served$",
        after=EXTRAS,
    ),
    Row(
        "export, old Keras",
        "TF_USE_LEGACY_KERAS=1 python -m zoo.classification export --output served-2",
        err=r"^error: .*TF_USE_LEGACY_KERAS=1 without the package tf_keras\. Unset the variable\.\n\Z",
        status=2,
        after=EXTRAS,
    ),
]
