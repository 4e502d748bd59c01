#!/bin/sh
# What denoising pretraining gives a translator that is trained on few pairs: the table in docs/pretraining.md, in about
# an hour on two CPU cores. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...   # holds translation/multi30k/tok/*.lc.norm.tok.{en,de}.gz
#     sh examples/denoising.sh
#
# Pretrains on the training texts of both languages, and trains translators from English to German on the first 5,000
# pairs: from random weights, and from both pretrained models, with the same vocabulary and three seeds each.
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
text=$KERAS_TRANSFORMER_DATA/translation/multi30k/tok
runs=runs/denoising
mkdir -p "$runs"
for part in train val; do
    [ -f "$runs/$part.txt" ] || gzip -dc "$text/$part.lc.norm.tok.en.gz" "$text/$part.lc.norm.tok.de.gz" >"$runs/$part.txt"
done
for language in en de; do
    [ -f "$runs/5000.$language" ] || gzip -dc "$text/train.lc.norm.tok.$language.gz" | head -n 5000 >"$runs/5000.$language"
done

sizes="--set model.num_encoder_layers=2 --set model.num_decoder_layers=2 --set model.hidden_dim=128
    --set model.intermediate_dim=256 --set model.vocabulary_size=4000 --set training.precision=mixed_bfloat16
    --set training.batch_tokens=2048"

pretrain() { # OBJECTIVE [ARGUMENT...]
    objective=$1
    shift
    # shellcheck disable=SC2086
    [ -d "$runs/$objective/checkpoint" ] || python -m zoo.pretraining train --objective "$objective" \
        --data "$runs/train.txt" --dev-data "$runs/val.txt" --output "$runs/$objective" "$@" $sizes \
        --set training.steps=1500 --set training.evaluate_every=500 --set training.max_tokens=64
}

translate() { # NAME SEED ARGUMENT...
    name=$1-$2 seed=$2
    shift 2
    # shellcheck disable=SC2086
    [ -d "$runs/$name/checkpoint" ] || python -m zoo.translation train --recipe tiny \
        --source "$runs/5000.en" --target "$runs/5000.de" \
        --dev-source "$text/val.lc.norm.tok.en.gz" --dev-target "$text/val.lc.norm.tok.de.gz" \
        --tokenize none --lowercase --output "$runs/$name" "$@" $sizes \
        --set training.steps=600 --set training.evaluate_every=100 --set training.seed="$seed"
}

pretrain spans
pretrain infilling --vocabulary "$runs/spans/vocabulary.model"
for seed in 1 2 3; do
    translate random $seed --vocabulary "$runs/spans/vocabulary.model"
    translate spans $seed --initial "$runs/spans/checkpoint"
    translate infilling $seed --initial "$runs/infilling/checkpoint"
done
for name in random spans infilling; do
    for seed in 1 2 3; do
        echo "$name, seed $seed: $(python -m zoo show "$runs/$name-$seed/checkpoint" | grep BLEU)"
    done
done
