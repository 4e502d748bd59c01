"""What tests/long/first_hour.py types to train, and what it should see."""

import signal

from first_hour_rows import Row

TRANSLATION, _CLASSIFICATION = "python -m zoo.translation train $TINY", "python -m zoo.classification train $SMALL"
PAIRS, _TEXTS = "--data pairs.tsv --dev-data dev.tsv", "--data texts.tsv --dev-data texts-dev.tsv"
FEW, _MANY = "--set training.steps=2", "--set training.steps=1000 --set training.evaluate_every=1000"
_STOPPED = f"{TRANSLATION} {PAIRS} {_MANY} --output runs/stopped"
_TERMINATED = f"{_CLASSIFICATION} {_TEXTS} {_MANY} --output runs/terminated"

RUNS = [
    Row(
        "train, Ctrl-C",
        _STOPPED,
        err="^SIGINT: saved at step [0-9]+ of 1,000; the same command continues from there$",
        status=130,
        stop=("loss [0-9]", signal.SIGINT),
    ),
    Row(
        "train again",
        _STOPPED,
        err="(?s)^continuing from step [0-9]+ of 1,000$.*^written: runs/stopped/checkpoint$",
        after="train, Ctrl-C",
    ),
    Row(
        "finished run again",
        _STOPPED,
        err="^error: runs/stopped holds a finished checkpoint.*with a larger training.steps; nothing was changed.$",
        status=2,
        after="train again",
    ),
    Row(
        "more steps",
        f"{_STOPPED.replace('steps=1000', 'steps=1100')}; ls runs/stopped",
        out="^checkpoint-1000$",
        err="(?s)^continuing from step 1,000 of 1,100$.*^written: runs/stopped/checkpoint$",
        after="train again",
    ),
    Row(
        "another recipe",
        _STOPPED.replace("--output", "--set model.hidden_dim=32 --set training.steps=1200 --output"),
        err="^error: .*was started with another recipe .*model.hidden_dim was 16.*nothing was changed.$",
        status=2,
        after="train again",
    ),
    Row(
        "folder of a run",
        'python -m zoo.translation translate --checkpoint runs/stopped --text "one two three"',
        err=r"\A\Z",
        after="train again",
    ),
    Row(
        "train, SIGTERM",
        _TERMINATED,
        err="^SIGTERM: saved at step [0-9]+ of 1,000; the same command continues from there$",
        status=143,
        stop=("loss [0-9]", signal.SIGTERM),
    ),
    Row(
        "run without checkpoint",
        "python -m zoo.classification classify --checkpoint runs/terminated --text x",
        err="^error: .*a training run without a checkpoint: resume it, or write one by the command `finish`",
        status=2,
        after="train, SIGTERM",
    ),
    Row(
        "finish",
        "python -m zoo.classification finish runs/terminated",
        err=r"\Awritten: runs/terminated/checkpoint \(last weights, step [0-9]+\)\n\Z",
        after="run without checkpoint",
    ),
    Row(
        "finished early",
        'python -m zoo.classification classify --checkpoint runs/terminated --text "a funny and warm film"',
        out=r"\A(glad|sad)\t0\.\d+\n\Z",
        after="finish",
    ),
    Row(
        "finish nothing",
        "python -m zoo.classification finish runs",
        err=r"\Aerror: Expected the folder of a training run\. Received: runs, which has .*\n\Z",
        status=2,
        after="finish",
    ),
    Row(
        "another dev set",
        _TERMINATED.replace("texts-dev", "texts-other-dev"),
        err="^error: .*was started with another dev set.*nothing was changed.$",
        status=2,
        after="train, SIGTERM",
    ),
    Row(
        "another training set",
        _TERMINATED.replace("--data texts.tsv", "--data numbers.tsv --label-names 0=sad 1=glad"),
        err="^error: .*was started with another corpus.*nothing was changed.$",
        status=2,
        after="train, SIGTERM",
    ),
    Row(
        "few steps of tiny",
        "python -m zoo.translation train --recipe tiny --set training.steps=50 --set training.score=loss "
        "--set training.batch_tokens=512 "
        f"{PAIRS} --output runs/tiny",
        err="^written: runs/tiny/checkpoint$",
    ),
    Row(
        "no dev set",
        f"{_CLASSIFICATION} --data texts.tsv --output runs/x",
        err=r"\Aerror: `train` needs a dev set, .*Received: none\..* or --dev-share 0\.02, .*\n\Z",
        status=2,
    ),
    Row(
        "dev share",
        f"{_CLASSIFICATION} --data numbers.tsv --dev-share 0.1 --label-names 0=sad 1=glad {FEW} --output runs/named",
        err="(?s)^dev: .*classes: glad [0-9]+, sad [0-9]+$.*^written: runs/named/checkpoint$",
    ),
    Row(
        "label names",
        "python -m zoo.classification classify --checkpoint runs/named --text film",
        out=r"\A(glad|sad)\t0\.\d+\n\Z",
        after="dev share",
    ),
    Row(
        "dev share in %",
        f"{_CLASSIFICATION} --data texts.tsv --dev-share 5 --output runs/x",
        err=r"\Aerror: `dev_share` must be between 0 and 1\. Received: 5\.0\..*\n\Z",
        status=2,
    ),
    Row(
        "misspelt setting",
        f"{_CLASSIFICATION} {_TEXTS} --set training.step=5 --output runs/x",
        err=r"^error: Unknown field 'step' .*Did you mean 'steps'\?",
        status=2,
    ),
    Row(
        "setting of no number",
        f"{_CLASSIFICATION} {_TEXTS} --set training.steps=many --output runs/x",
        err="^error: `training.steps` must be of type int. Received: 'many'.$",
        status=2,
    ),
    Row(
        "output in a file",
        f"{_CLASSIFICATION} {_TEXTS} --output texts.tsv/run",
        err="^error: .*texts.tsv/run",
        status=2,
    ),
    Row(
        "output not writable",
        f"{_CLASSIFICATION} {_TEXTS} --output /proc/run",
        err="^error: .*/proc/run",
        status=2,
    ),
    Row(
        "plan",
        f"python -m zoo plan classification $SMALL {_TEXTS} --set training.steps=500",
        out="(?s)parameters.*memory.*training run",
    ),
]

DATA = [
    Row(
        "three columns",
        f"{_CLASSIFICATION} --data questions.tsv --dev-data questions-dev.tsv {FEW} --output runs/questions",
        err="(?s)^train, line 1: label: (NUM|LOC)   text: (NUM|LOC):.*"
        "^warning: the corpus 'train' has more columns than are read: columns 0, 1 of 3, from 0. .* by --columns.$",
    ),
    Row(
        "label and text swapped",
        f"{_CLASSIFICATION} --data swapped.tsv --dev-share 0.1 {FEW} --output runs/x",
        err=r"^error: Several texts must share a label\. .*Are the columns swapped\? .* by --columns\.$",
        status=2,
    ),
    Row(
        "header",
        f"{_CLASSIFICATION} --data header.tsv --dev-data texts-dev.tsv {FEW} --output runs/header",
        err="^warning: only line 1 has the label 'label'. If it is a header, add --header.$",
    ),
    Row(
        "UTF-16",
        f"{_CLASSIFICATION} --data utf16.tsv --dev-share 0.1 {FEW} --output runs/x",
        err="^error: Text files must be UTF-8. Received: utf16.tsv .*iconv -f UTF-16 -t UTF-8.$",
        status=2,
    ),
    Row(
        "UTF-16 without mark",
        f"{_CLASSIFICATION} --data utf16-without-mark.tsv --dev-share 0.1 {FEW} --output runs/x",
        err="^error: Text files must be UTF-8. Received: utf16-without-mark.tsv in UTF-16LE. .*iconv -f UTF-16LE",
        status=2,
    ),
    Row(
        "Latin-1",
        f"{_CLASSIFICATION} --data latin1.tsv --dev-share 0.1 {FEW} --output runs/x",
        err="^error: .*UTF-8.*iconv",
        status=2,
    ),
    Row(
        "missing column",
        f"{TRANSLATION} {PAIRS} --columns 0 5 {FEW} --output runs/x",
        err="^error: Most lines of the corpus 'train' .* other columns by --columns; these are columns 0, 5 of 2",
        status=2,
    ),
    Row(
        "missing column of texts",
        f"{_CLASSIFICATION} {_TEXTS} --columns 0 5 {FEW} --output runs/x",
        err="^error: texts.tsv, line 1, must have all columns that are selected. .* select other columns by .*columns",
        status=2,
    ),
    Row(
        "one line",
        f"{TRANSLATION} --data one-line.tsv --dev-data dev.tsv {FEW} --output runs/one-line",
        err="^warning: the corpus 'train' has one line only. Write each example on a line of its own.$",
    ),
    Row(
        "empty file",
        f"{TRANSLATION} --data empty.tsv --dev-data dev.tsv {FEW} --output runs/x",
        err=r"^error: .*Received: no sentence that is not empty\.$",
        status=2,
    ),
    Row(
        "a line is missing",
        f"{TRANSLATION} --source en.txt --target de.txt --dev-share 0.1 {FEW} --output runs/x",
        err="^error: Parallel files must have the same number of lines. .*en.txt with 343, de.txt with 342 lines",
        status=2,
    ),
    Row(
        "dev set is training set",
        f"{_CLASSIFICATION} --data texts.tsv --dev-data texts.tsv {FEW} --output runs/overlap",
        err="^warning: ([0-9]+) of \\1 dev examples are in the training set, too, .* or --dev-share.$",
    ),
]
