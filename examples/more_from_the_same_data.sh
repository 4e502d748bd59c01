#!/bin/sh
# What R-Drop, moving averages, ensembles, distillation and further texts of one language give a translator of 10,000
# pairs: the table in docs/robust-translators.md, in about four hours on two CPU cores. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...   # holds translation/multi30k/tok/*.lc.norm.tok.{en,de}.gz
#     sh examples/more_from_the_same_data.sh
#
# The first 10,000 pairs of Multi30k are the corpus; of the other 19,000, the English or the German side is used alone.
# All models have the same size, vocabulary and number of updates, with two seeds each. A step can be run by itself:
#
#     sh examples/more_from_the_same_data.sh train plain 1
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
text=$KERAS_TRANSFORMER_DATA/translation/multi30k/tok
runs=runs/same-data
mkdir -p "$runs"
for language in en de; do
    [ -f "$runs/other.$language" ] || {
        gzip -dc "$text/train.lc.norm.tok.$language.gz" | head -n 10000 >"$runs/pairs.$language"
        gzip -dc "$text/train.lc.norm.tok.$language.gz" | tail -n +10001 >"$runs/other.$language"
    }
done
[ -f "$runs/pairs.tsv" ] || paste "$runs/pairs.en" "$runs/pairs.de" >"$runs/pairs.tsv"
[ -f "$runs/vocabulary.model" ] || python -m zoo.translation vocabulary --data "$runs/pairs.tsv" --size 4000 \
    --output "$runs/vocabulary.model"

train() { # NAME SEED ARGUMENT...
    name=$1-$2 seed=$2 from=en to=de corpus=$runs/$1.tsv
    [ -f "$corpus" ] || corpus=$runs/pairs.tsv
    columns="0 1"
    [ "$1" != reverse ] || columns="1 0" from=de to=en
    shift 2
    # shellcheck disable=SC2086
    [ -d "$runs/$name/checkpoint" ] || python -m zoo.translation train --recipe tiny --data "$corpus" \
        --columns $columns --dev-source "$text/val.lc.norm.tok.$from.gz" --dev-target "$text/val.lc.norm.tok.$to.gz" \
        --vocabulary "$runs/vocabulary.model" --tokenize none --lowercase --output "$runs/$name" \
        --set model.num_encoder_layers=2 --set model.num_decoder_layers=2 --set training.batch_tokens=2048 \
        --set training.steps=1500 --set training.warmup_steps=200 --set training.cooldown_steps=1000 \
        --set training.evaluate_every=300 --set training.average=1 --set training.seed="$seed" "$@"
}

distill() { # NAME ARGUMENT...
    name=$1
    shift
    [ -f "$runs/$name.tsv" ] || python -m zoo.translation distill "$@" --output "$runs/$name.tsv"
}

score() { # NAME CHECKPOINT...
    name=$1
    shift
    echo "$name: $(python -m zoo.translation evaluate --checkpoint "$@" --source "$text/val.lc.norm.tok.en.gz" \
        --target "$text/val.lc.norm.tok.de.gz" --beam-size 4 --tokenize none --lowercase | grep BLEU)"
}

[ $# = 0 ] || { "$@" && exit; }

for seed in 1 2; do
    train plain $seed
    train ema $seed --set training.ema=0.995
    train r_drop $seed --set training.r_drop=5
done
train reverse 1
distill distilled --checkpoint "$runs/plain-1/checkpoint" "$runs/plain-2/checkpoint" --data "$runs/pairs.tsv" \
    --closest-of 4
distill ft --checkpoint "$runs/plain-1/checkpoint" "$runs/plain-2/checkpoint" --texts "$runs/other.en" --tag "<ft>"
distill bt --checkpoint "$runs/reverse-1/checkpoint" --texts "$runs/other.de" --reverse --tag "<bt>"
[ -f "$runs/forward.tsv" ] || cat "$runs/pairs.tsv" "$runs/ft.tsv" >"$runs/forward.tsv"
[ -f "$runs/back.tsv" ] || cat "$runs/pairs.tsv" "$runs/bt.tsv" >"$runs/back.tsv"
for seed in 1 2; do
    train distilled $seed
    train forward $seed
    train back $seed
done
for name in plain ema r_drop distilled forward back; do
    for seed in 1 2; do
        score "$name, seed $seed" "$runs/$name-$seed/checkpoint"
    done
    score "$name, both together" "$runs/$name-1/checkpoint" "$runs/$name-2/checkpoint"
done
