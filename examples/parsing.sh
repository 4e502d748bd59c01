#!/bin/sh
# The training runs behind the results in docs/parsing.md, on two CPU cores. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...      # holds parsing/{genia,craft}
#     sh examples/parsing.sh scratch         # span parser of GENIA from random weights, in two trainings
#     sh examples/parsing.sh small           # the same, then with sentences that parsing/genia parsed: what is shipped
#     sh examples/parsing.sh minilm FOLDER   # from a Hugging Face folder of all-MiniLM-L6-v2
#     sh examples/parsing.sh linear          # linearised parser of GENIA
#     sh examples/parsing.sh crf             # span parser of GENIA that is normalised over trees, from random weights
#     sh examples/parsing.sh craft           # span parser of CRAFT from random weights
# shellcheck disable=SC2086
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
genia=$KERAS_TRANSFORMER_DATA/parsing/genia
craft=$KERAS_TRANSFORMER_DATA/parsing/craft

train() { # TRAIN DEV OUTPUT NAME=VALUE... [-- ARGUMENT...]
    trees=$1 dev=$2 output=runs/$3
    shift 3
    settings="--set training.precision=mixed_bfloat16"
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        settings="$settings --set $1"
        shift
    done
    [ $# -eq 0 ] || shift

    [ -d "$output/checkpoint" ] ||
        python -m zoo.parsing train --data "$trees" --dev-data "$dev" "$@" $settings --output "$output"
}

sizes="model.span_dim=128"
dry="model.dropout=0.1 model.attention_dropout=0.05 training.token_dropout=0.05" # The first training does not overfit.

case ${1:?scratch, small, minilm FOLDER, linear, crf or craft} in
scratch | small)
    train "$genia/train.trees" "$genia/dev.trees" genia-first $sizes training.steps=4000 \
        training.warmup_steps=300 training.cooldown_steps=3700
    train "$genia/train.trees" "$genia/dev.trees" genia $sizes $dry training.steps=3600 training.warmup_steps=200 \
        training.cooldown_steps=3400 training.evaluate_every=600 training.peak_learning_rate=1e-3 training.seed=2 \
        -- --initial runs/genia-first/checkpoint
    [ "$1" = scratch ] && exit 0
    # The texts of CRAFT, articles of a neighbouring field, with trees of the larger parser instead of its own.
    [ -f runs/parsed.trees ] || gzip -cd "$craft/train.trees.gz" | sed 's/([^ ()]* *//g; s/)//g' |
        awk 'NF >= 5 && NF <= 70 && !seen[$0]++' |
        python -m zoo.parsing parse --tokenised --dtype mixed_bfloat16 > runs/parsed.trees.part
    [ -f runs/parsed.trees ] || mv runs/parsed.trees.part runs/parsed.trees
    cat "$genia/train.trees" "$genia/train.trees" runs/parsed.trees > runs/genia-and-parsed.trees
    train runs/genia-and-parsed.trees "$genia/dev.trees" genia-small $sizes $dry training.steps=3400 \
        training.warmup_steps=200 training.cooldown_steps=3200 training.evaluate_every=600 \
        training.peak_learning_rate=1e-3 training.seed=3 -- --initial runs/genia/checkpoint
    ;;
crf)
    train "$genia/train.trees" "$genia/dev.trees" genia-crf $sizes model.tree_crf=true training.steps=4000 \
        training.warmup_steps=300 training.cooldown_steps=3700
    ;;
minilm)
    train "$genia/train.trees" "$genia/dev.trees" genia-minilm $sizes model.dropout=0.1 \
        model.attention_dropout=0.1 training.token_dropout=0 training.peak_learning_rate=3e-4 training.steps=1800 \
        training.warmup_steps=100 training.cooldown_steps=1700 training.evaluate_every=450 training.average=1 \
        -- --initial "$2"
    ;;
linear)
    train "$genia/train.trees" "$genia/dev.trees" genia-linear model.vocabulary_size=3000 model.dropout=0.1 \
        training.batch_tokens=2048 training.steps=5000 training.warmup_steps=400 training.cooldown_steps=4400 \
        training.evaluate_every=1000 training.average=1 -- --recipe linear
    ;;
craft)
    train "$craft/train.trees.gz" "$craft/dev.trees" craft $sizes $dry training.steps=2200 \
        training.warmup_steps=300 training.cooldown_steps=2000 training.evaluate_every=1100 training.average=2
    ;;
esac
