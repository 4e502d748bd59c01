#!/bin/sh
# How translation/multi30k-en-de was made: four hours on two CPU cores with AVX-512 bfloat16. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...   # holds translation/multi30k/tok/*.lc.norm.tok.{en,de}.gz
#     sh examples/multi30k.sh
#
# After two trainings of English to German and one of German to English, a fourth sees the training set three times: as
# it is, with German of the model's own, and with English of the reverse model's (data diversification, Nguyen et al.
# 2020). No other data is used.
#
#     sh examples/multi30k.sh seeds
#
# goes on, for about seven hours more: two rounds of the same, and then three trainings from random weights, with a
# vocabulary of their own, on all the versions of the training set.
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
runs=runs
text=$KERAS_TRANSFORMER_DATA/translation/multi30k/tok/train.lc.norm.tok

train() {
    output=$1
    shift
    [ -d "$runs/$output/half-precision" ] ||
        python examples/multi30k.py --output "$runs/$output" "$@" --set training.precision=mixed_bfloat16
}

translate() { # CHECKPOINT BEAM_SIZE FROM TO
    [ -f "$4" ] || python -m zoo.translation translate --checkpoint "$runs/$1/checkpoint" --beam-size "$2" \
        --length-penalty 1 "$3" > "$4.part"
    [ -f "$4" ] || mv "$4.part" "$4"
}

train multi30k --seed 1
train longer --initial "$runs/multi30k/checkpoint" --seed 2 --set training.batch_tokens=4096 \
    --set training.steps=5600 --set training.warmup_steps=300 --set training.peak_learning_rate=0.0025 \
    --set training.cooldown_steps=5400
train reverse --reverse --initial "$runs/longer/checkpoint" --seed 5 --set training.batch_tokens=4096 \
    --set training.steps=3300 --set training.warmup_steps=300 --set training.peak_learning_rate=0.003 \
    --set training.cooldown_steps=2800 --set training.evaluate_every=600
translate longer 1 "$text.en.gz" "$runs/train.de"
translate reverse 3 "$text.de.gz" "$runs/train.en"
train diversified --initial "$runs/longer/checkpoint" --seed 6 \
    --more "$text.en.gz" "$runs/train.de" --more "$runs/train.en" "$text.de.gz" --set training.batch_tokens=4096 \
    --set training.steps=6800 --set training.warmup_steps=300 --set training.peak_learning_rate=0.0025 \
    --set training.cooldown_steps=6300 --set training.evaluate_every=400

[ "${1:-}" = seeds ] || exit 0
translate diversified 5 "$text.en.gz" "$runs/train.2.de"
train again --initial "$runs/diversified/checkpoint" --seed 7 --more "$text.en.gz" "$runs/train.de" \
    --more "$text.en.gz" "$runs/train.2.de" --more "$runs/train.en" "$text.de.gz" --set training.batch_tokens=4096 \
    --set training.steps=9000 --set training.warmup_steps=300 --set training.peak_learning_rate=0.0025 \
    --set training.cooldown_steps=8500 --set training.evaluate_every=400
train settled --initial "$runs/again/checkpoint" --seed 9 --more "$text.en.gz" "$runs/train.de" \
    --more "$text.en.gz" "$runs/train.2.de" --more "$runs/train.en" "$text.de.gz" --set training.batch_tokens=4096 \
    --set training.steps=2000 --set training.warmup_steps=100 --set training.peak_learning_rate=0.0015 \
    --set training.cooldown_steps=1900 --set training.evaluate_every=400 --set model.dropout=0.2
translate settled 5 "$text.en.gz" "$runs/train.3.de"
for seed in 11 12 13; do
    train "seed-$seed" --seed $seed --more "$text.en.gz" "$runs/train.de" --more "$text.en.gz" "$runs/train.2.de" \
        --more "$text.en.gz" "$runs/train.3.de" --more "$runs/train.en" "$text.de.gz" --set training.batch_tokens=4096 \
        --set training.steps=12000 --set training.warmup_steps=1000 --set training.peak_learning_rate=0.0035 \
        --set training.cooldown_steps=9000 --set training.evaluate_every=400 --set model.dropout=0.2
done
