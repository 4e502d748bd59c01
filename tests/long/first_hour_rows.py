"""What tests/long/first_hour.py types as a new user, and what it should see.

$TINY and $SMALL are options for models that learn in seconds, from `first_hour.VARIABLES`.
"""

import signal
from typing import NamedTuple


class Row(NamedTuple):
    """Something that a new user types, and what the user should see.

    Args:
        name: A name for it.
        typed: A command for the shell, or code for Python; that of the README for the first row.
        out, err: Regular expressions (with `^` and `$` for lines) that are found in standard output and error.
        status: The exit status.
        after: Name of a row that runs before.
        stop: A regular expression and a signal, which is sent once the output has a match. Standard error is a terminal
            then.
        code: Whether `typed` is code for Python, whose exceptions may have tracebacks.
        at_home: Whether it is typed in the copy of the repository, not in the folder with the corpora.
        needs: A program, or a variable with its name, without which the row is left out.
    """

    name: str
    typed: str
    out: str = ""
    err: str = ""
    status: int = 0
    after: str = ""
    stop: tuple[str, signal.Signals] | None = None
    code: bool = False
    at_home: bool = False
    needs: str = ""


INSTALL, EXTRAS = "README, commands", "extras"  # Rows that change the environment.

README = [
    Row(INSTALL, "", out="^Ich möchte wissen, warum du gestern nicht gekommen bist\\.$", at_home=True),
    Row(
        "README, Python",
        "python tests/long/readme_blocks.py README.md",
        out="^3 Python blocks ran, 1 outputs are as printed$",
        at_home=True,
    ),
    Row("list", "python -m zoo list", out="^translation/en-de +8,894,464 "),
    Row("show", "python -m zoo show classification/sst2", out="^ +labels +negative positive"),
    Row("doctor", "python -m zoo doctor", out="^note +sacrebleu: not installed; .*: python -m pip install 'sacrebleu>"),
    Row(
        "make",
        'make --no-print-directory translate TEXT="Where is my hat?"',
        out=r"^Wo ist mein Hut\?$",
        at_home=True,
        needs="make",
    ),
    Row(
        "make, old Python",
        "make translate PYTHON=$OLD_PYTHON VENV=.venv-old",
        err="Python 3.11 or later is needed. Received: .* Name another one: make PYTHON=python3",
        status=2,
        at_home=True,
        needs="OLD_PYTHON",
    ),
]

_OF_TASKS = {
    "zoo": "list show check doctor plan",
    "zoo.translation": "vocabulary prepare train finish evaluate translate export",
    "zoo.classification": "train finish evaluate classify export",
    "zoo.labelling": "train finish evaluate tag export",
    "zoo.parsing": "train finish evaluate parse export",
    "zoo.pretraining": "train finish evaluate embed export",
}
HELP = [
    Row(
        f"help, {module}",
        f'for command in "" {commands}; do python -m {module} $command --help || exit; done',
        out=rf"(?s)\Ausage: python -m {module} (.*^usage: ){{{len(commands.split())}}}",
        err=r"\A\Z",
    )
    for module, commands in _OF_TASKS.items()
]

_SCRIPTS = {
    "examples/number_words.py": "num2words and sacrebleu",
    "examples/layers_in_fit.py": "num2words",
    "examples/multi30k.py --output m": "sacrebleu",
    "benchmarks/verification.py": "keras-hub",
    "benchmarks/curves.py --data .": "matplotlib",
    "benchmarks/parsing.py --checkpoint parsing/genia --data x": "NLTK",
    "benchmarks/serving.py --texts examples/sentences/en.txt": "tensorflow-text",
}
MISSING_PACKAGES = [
    Row(
        "check, no NLTK",
        "python -m zoo check",
        out=r"(?s)^note +parsing/genia: answers: not checked: Parsing needs NLTK\. Install it: python -m pip install.*"
        "^ok +translation/en-de: answers",
        err=r"\A\Z",
        status=3,
    ),
    *(
        Row(
            script.split()[0],
            f"python {script}",
            err=rf"^error: This (example|benchmark) needs {packages}\. Install it: python -m pip install .*\n\Z",
            status=1,
            at_home=True,
        )
        for script, packages in _SCRIPTS.items()
    ),
    Row(
        "train, no sacreBLEU",
        "python -m zoo.translation train --data pairs.tsv --dev-data dev.tsv --output runs/no-bleu; ls runs/no-bleu",
        err=r"\Aerror: .*needs sacrebleu\. Install it: python -m pip install .*\n.*No such file",
        status=2,
    ),
    Row(
        "picture, no matplotlib",
        "python -m zoo.classification evaluate --data texts.tsv --picture confusion.png",
        err=r"\Aerror: Drawing needs matplotlib\. Install it: .*\n\Z",
        status=2,
    ),
    Row(
        "export, no tensorflow-text",
        "python -m zoo.translation export --output served",
        err=r"\Aerror: .*needs tensorflow-text\. Install it: .*\n\Z",
        status=2,
    ),
    Row(
        "parse, no NLTK",
        'python -m zoo.parsing parse --text "I saw it."',
        err=r"\Aerror: Parsing needs NLTK\. Install it: .*\n\Z",
        status=2,
    ),
    Row(
        "tfds, no data sets",
        "python -m zoo.classification train --data tfds:glue/sst2 --dev-share 0.1 --output runs/tfds",
        err=r"\Aerror: .*tfds:glue/sst2 needs tensorflow-datasets and importlib-resources\. Install it: .*\n\Z",
        status=2,
    ),
]

PREDICTIONS = [
    Row(
        "two sentences on a line",
        'python -m zoo.translation translate --text "It is late. Where is my hat?"',
        out=r"\AEs ist spät\. Wo ist mein Hut\?\n\Z",
        err=r"\A\Z",
    ),
    Row("standard input", 'echo "It is late." | python -m zoo.translation translate', out=r"\AEs ist spät\.\n\Z"),
    Row(
        "names of labels",
        'python -m zoo.classification classify --text "A stirring, funny film."',
        out=r"\Apositive\t0\.9\d+\n\Z",
        err=r"\A\Z",
    ),
    Row(
        "tag raw text",
        'python -m zoo.labelling tag --text "I sold my house."',
        out=r"\AI_PRP sold_VBD my_PRP\$ house_NN \._\.\n\Z",
        err=r"\A\Z",
    ),
    Row("tag words", 'python -m zoo.labelling tag --tokenised --text "my house ."', out=r"\Amy_PRP\$ house_NN \._\.\n"),
    Row(
        "translate, Ctrl-C",
        "python -m zoo.translation translate sentences.txt",
        out=r"\A(Wo ist mein Hut\?\n){32,4900}\Z",
        err=r"^interrupted$",
        status=130,
        stop=(r"(.*Hut\?\n){32}", signal.SIGINT),
    ),
    Row(
        "translate into head",
        "set -o pipefail; python -m zoo.translation translate sentences.txt | head -n 2",
        out=r"\A(Wo ist mein Hut\?\n){2}\Z",
        err=r"\A\Z",
        status=141,
    ),
    Row(
        "full disk",
        "python -m zoo.translation translate --text Yes. > /dev/full",
        err=r"\Aerror: .*No space left on device\n\Z",
        status=2,
    ),
    Row(
        "unknown name",
        "python -m zoo.translation translate --checkpoint translation/tatoeba-de-en --text x",
        err=r"\Aerror: 'translation/tatoeba-de-en' is neither .*Known names: .*translation/en-de,.*\n\Z",
        status=2,
    ),
    Row(
        "name of another task",
        "python -m zoo.translation translate --checkpoint classification/sst2 --text x",
        err=r"\Aerror: .*classification/sst2.*python -m zoo\.classification.*\n\Z",
        status=2,
    ),
    Row(
        "missing file",
        "python -m zoo.translation translate letter.txt",
        err=r"\Aerror: .*letter\.txt, which does not exist\. Check the path\.\n\Z",
        status=2,
    ),
    Row(
        "no command",
        'python -m zoo.translation --text "Where is my hat?"',
        err=r"^usage: python -m zoo\.translation (?s:.*)error: ",
        status=2,
    ),
    Row(
        "misspelt backend",
        "KERAS_BACKEND=tensorfow python -m zoo.translation translate --text x",
        err=r"\Aerror: .*tensorfow.*\n\Z",
        status=2,
    ),
    Row(
        "missing backend",
        "KERAS_BACKEND=torch python -m zoo.translation translate --text x",
        err=r"\Aerror: .*torch.*\n\Z",
        status=2,
    ),
    Row(
        "TF_USE_LEGACY_KERAS",
        'TF_USE_LEGACY_KERAS=1 python -m zoo.translation translate --text "It is late."',
        out=r"\AEs ist spät\.\n\Z",
        err=r"\A\Z",
    ),
]
