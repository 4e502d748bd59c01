#!/bin/sh
# The adapters on encoder/minilm that are shipped, on two CPU cores. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...  # holds classification/{sst2,trec}, labelling/masc_pos and parsing/genia
#     sh examples/adapters.sh
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
texts=$KERAS_TRANSFORMER_DATA/classification

train() { # TASK OUTPUT NAME=VALUE... -- ARGUMENT...
    task=$1 output=runs/$2
    shift 2
    settings=
    while [ "$1" != -- ]; do
        settings="$settings --set $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    [ -d "$output/checkpoint" ] || python -m "zoo.$task" train "$@" $settings --output "$output"
}

pack() { # RUN CARD EVALUATE...
    [ -d "runs/$1/adapter" ] || python -m zoo pack "runs/$1" --base encoder/minilm --card "examples/cards/$2.json" \
        --evaluate "$3" --output "runs/$1/adapter"
}

tune="model.dropout=0.1 model.attention_dropout=0.1 training.precision=mixed_bfloat16 training.label_smoothing=0.1
    training.batch_tokens=2048 training.lora_rank=64 training.peak_learning_rate=1e-3 training.warmup_steps=30
    training.evaluate_every=50"
train classification sst2-adapter $tune training.token_dropout=0 training.steps=350 training.cooldown_steps=320 -- \
    --initial encoder/minilm --data "$texts/sst2/train.tsv" --dev-data "$texts/sst2/dev.tsv" \
    --label-names 0=negative 1=positive
pack sst2-adapter sst2 "--data $texts/sst2/dev.tsv --label-names 0=negative 1=positive"
train classification trec-adapter $tune training.token_dropout=0.05 training.steps=300 training.cooldown_steps=270 \
    training.seed=2 -- --initial encoder/minilm --data "$texts/trec/train.tsv" --columns 0 2 \
    --dev-data "$texts/trec/dev.tsv" --dev-columns 0 2
pack trec-adapter trec "--data $texts/trec/dev.tsv --columns 0 2"
words=$KERAS_TRANSFORMER_DATA/labelling/masc_pos
train labelling masc-adapter $tune training.token_dropout=0 training.peak_learning_rate=1.5e-3 training.steps=1200 \
    training.warmup_steps=100 training.cooldown_steps=1100 training.evaluate_every=300 training.average=1 \
    model.character_filters=128 -- --initial encoder/minilm --data "$words/train.tsv.gz" \
    --dev-data "$words/dev.tsv" --unknown-labels wrong
pack masc-adapter masc_pos "--data $words/dev.tsv --unknown-labels wrong"
trees=$KERAS_TRANSFORMER_DATA/parsing/genia
train parsing genia-adapter $tune training.token_dropout=0 training.label_smoothing=0 model.span_dim=128 \
    training.peak_learning_rate=1.2e-3 training.steps=2400 training.warmup_steps=100 training.cooldown_steps=2300 \
    training.evaluate_every=600 training.average=1 model.character_filters=128 -- \
    --initial encoder/minilm --data "$trees/train.trees" --dev-data "$trees/dev.trees"
pack genia-adapter genia "--data $trees/dev.trees"
