#!/bin/sh
# The robust translators of everyday text, English to and from German and French, on two CPU cores: three and a
# half hours for each in bfloat16. Run again, it goes on.
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
data=$KERAS_TRANSFORMER_DATA/translation/$corpus output=runs/robust-$1

train() { # OUTPUT ARGUMENT...
    folder=$1
    shift
    # shellcheck disable=SC2086
    [ -d "$folder/checkpoint" ] || python -m zoo.translation train --recipe robust --data "$data/train.tsv.gz" \
        --columns $columns --dev-data "$data/dev.tsv" --dev-columns $columns --output "$folder" "$@"
}

train "$output-first"
# More capitals, names and numbers than at first, when they would cost the rest.
train "$output" --initial "$output-first/checkpoint" --set training.steps=2000 --set training.warmup_steps=60 \
    --set training.cooldown_steps=1940 --set training.peak_learning_rate=3.5e-4 --set training.evaluate_every=400 \
    --set training.augment.upper=0.13 --set training.augment.names=0.8 --set training.augment.numbers=0.7 \
    --set training.seed=2
python benchmarks/robustness.py --checkpoint "$output/checkpoint" --data "$data/dev.tsv" --columns $columns \
    --language "${1%-*}"
