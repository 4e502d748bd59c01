#!/bin/sh
# The robust translators of everyday text, English to and from German and French, on two CPU cores in bfloat16: en-de in
# four hours from random weights, the others in an hour each from its weights, fr-en in one and a half. Run again, it
# goes on.
#
#     export KERAS_TRANSFORMER_DATA=...  # holds translation/tatoeba_eng_{deu,fra}
#     sh examples/translators.sh en-de   # or de-en, en-fr, fr-en
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
case ${1:?en-de, de-en, en-fr or fr-en} in
en-de) corpus=tatoeba_eng_deu columns="0 1" ;;
de-en) corpus=tatoeba_eng_deu columns="1 0" ;;
en-fr) corpus=tatoeba_eng_fra columns="0 1" ;;
fr-en) corpus=tatoeba_eng_fra columns="1 0" ;;
*) echo "Expected en-de, de-en, en-fr or fr-en. Received: $1." >&2 && exit 2 ;;
esac
data=$KERAS_TRANSFORMER_DATA/translation/$corpus output=runs/robust-$1 french=runs/french.model
pairs=$data/train.tsv.gz numbers=0.7

train() { # OUTPUT STEPS WARM-UP RATE UPPER NAMES ARGUMENT...
    folder=$1 steps=$2 warmup=$3 rate=$4 upper=$5 names=$6
    shift 6
    # shellcheck disable=SC2086
    [ -d "$folder/checkpoint" ] || python -m zoo.translation train --recipe robust --data "$pairs" \
        --columns $columns --dev-data "$data/dev.tsv" --dev-columns $columns --output "$folder" \
        --set "training.steps=$steps" --set "training.warmup_steps=$warmup" --set "training.peak_learning_rate=$rate" \
        --set "training.augment.upper=$upper" --set "training.augment.names=$names" \
        --set "training.augment.numbers=$numbers" "$@"
}

phrases() { # EVERY REPEATS [CONDITION]: every n-th pair of the corpus, and the phrases in English and French.
    gzip -cd "$data/train.tsv.gz" | awk "NR % $1 == 1 % $1"
    for _ in $(seq "$2"); do cut -f 1,3 examples/phrases.tsv | awk -F '\t' "${3:-1}"; done
}

case $1 in
en-de)
    train "$output-first" 12000 1000 2.5e-3 0.06 0.3 --set training.cooldown_steps=8000
    # More capitals and names than at first, when they would cost the rest.
    train "$output" 2000 60 3.5e-4 0.13 0.8 --initial "$output-first/checkpoint" --set training.cooldown_steps=1940 \
        --set training.evaluate_every=400 --set training.seed=2
    ;;
de-en) # Has the same vocabulary.
    train "$output" 4300 300 2e-3 0.12 0.6 --initial translation/en-de --set training.cooldown_steps=3200 \
        --set training.evaluate_every=1000
    ;;
*) # Subwords that both vocabularies have keep their vectors.
    [ -f "$french" ] || python -m zoo.translation vocabulary --data "$data/train.tsv.gz" --case-markup --split-digits \
        --output "$french"
    start="--vocabulary $french --set training.cooldown_steps=3700 --set training.evaluate_every=1000"
    if [ "$1" = en-fr ]; then # shellcheck disable=SC2086
        train "$output" 5000 400 2.5e-3 0.12 0.6 --initial translation/en-de $start
    else # Few pairs of this corpus have names or numbers. Greetings, which it lacks, come in the second run.
        numbers=0.8
        # shellcheck disable=SC2086
        train "$output-first" 5000 400 2.5e-3 0.12 0.8 --initial translation/de-en $start \
            --set training.augment.substitutable=0.15
        pairs=runs/phrases.tsv
        phrases 1 8 > "$pairs"
        train "$output-second" 1200 60 5e-4 0.12 0.9 --initial "$output-first/checkpoint" \
            --set training.cooldown_steps=1140 --set training.evaluate_every=400 \
            --set training.augment.substitutable=0.25 --set training.seed=2
        # More of them, on a quarter of the corpus, and only the first of several translations.
        pairs=runs/more-phrases.tsv
        phrases 4 20 "!seen[\$2]++" > "$pairs"
        train "$output" 200 20 3e-4 0.12 0.9 --initial "$output-second/checkpoint" --set training.cooldown_steps=180 \
            --set training.evaluate_every=200 --set training.average=1 --set training.augment.substitutable=0.25 \
            --set training.seed=3
    fi
    ;;
esac
# shellcheck disable=SC2086
python benchmarks/robustness.py --checkpoint "$output/checkpoint" --data "$data/dev.tsv" --columns $columns \
    --language "${1%-*}"
