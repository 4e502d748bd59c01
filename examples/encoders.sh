#!/bin/sh
# The training runs behind the results in docs/classification.md, docs/labelling.md and docs/pretraining.md, on two CPU
# cores. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...       # holds classification/{sst2,trec,imdb} and labelling/masc_pos
#     sh examples/encoders.sh scratch         # from random weights; what is shipped is among them
#     sh examples/encoders.sh minilm FOLDER   # fine-tuned from a Hugging Face folder of all-MiniLM-L6-v2
#     sh examples/encoders.sh pretraining     # an encoder of our own on the texts of all three, then SST-2 and TREC
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
texts=$KERAS_TRANSFORMER_DATA/classification
words=$KERAS_TRANSFORMER_DATA/labelling

train() { # TASK/DATA OUTPUT NAME=VALUE... [-- ARGUMENT...]
    data=$1 output=runs/$2
    shift 2
    settings=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        settings="$settings --set $1"
        shift
    done
    [ $# -eq 0 ] || shift
    case $data in
    classification/trec)
        set -- --data "$texts/trec/train.tsv" --columns 0 2 --dev-data "$texts/trec/dev.tsv" --dev-columns 0 2 "$@"
        ;;
    classification/trec-fine)
        set -- --data "$texts/trec/train.tsv" --columns 1 2 --dev-data "$texts/trec/dev.tsv" --dev-columns 1 2 "$@"
        ;;
    classification/imdb) set -- --data "$texts/imdb/train.tsv.gz" --dev-data "$texts/imdb/dev.tsv.gz" "$@" ;;
    classification/sst2) set -- --data "$texts/sst2/train.tsv" --dev-data "$texts/sst2/dev.tsv" \
        --label-names 0=negative 1=positive "$@" ;;
    labelling/masc-pos)
        set -- --data "$words/masc_pos/train.tsv.gz" --dev-data "$words/masc_pos/dev.tsv" --unknown-labels wrong "$@"
        ;;
    pretraining/texts) set -- --data runs/texts.txt --dev-data "$texts/imdb/dev.tsv.gz" --dev-columns 1 "$@" ;;
    esac
    # shellcheck disable=SC2086
    [ -d "$output/checkpoint" ] || python -m "zoo.${data%/*}" train "$@" $settings --output "$output"
}

case ${1:?scratch, minilm FOLDER or pretraining} in
scratch)
    short="training.steps=900 training.warmup_steps=200 training.cooldown_steps=700 training.evaluate_every=150"
    for seed in 1 2 3; do
        train classification/sst2 "sst2-$seed" $short training.seed=$seed model.ngrams=1 training.subword_dropout=0.1
        train classification/trec "trec-$seed" $short training.seed=$seed model.ngrams=2 model.dropout=0.5 \
            training.token_dropout=0.3
    done
    train labelling/masc-pos masc-pos training.batch_tokens=4096 training.token_dropout=0.1 training.steps=1500 \
        training.warmup_steps=300 training.cooldown_steps=1300 training.evaluate_every=250 \
        training.precision=mixed_bfloat16
    train classification/imdb imdb model.ngrams=2 training.lowercase=true training.token_dropout=0.1 \
        training.precision=mixed_bfloat16 training.batch_tokens=8192 training.steps=1600 training.cooldown_steps=1400 \
        training.warmup_steps=200 training.evaluate_every=400
    ;;
minilm)
    tune="model.dropout=0.1 model.attention_dropout=0.1 training.precision=mixed_bfloat16 training.label_smoothing=0
        training.token_dropout=0"
    rate=training.peak_learning_rate
    train classification/sst2 sst2-minilm $tune $rate=1e-4 training.batch_tokens=2048 training.steps=300 \
        training.warmup_steps=30 training.cooldown_steps=270 training.evaluate_every=50 -- --initial "$2"
    train classification/imdb imdb-minilm $tune $rate=1e-4 training.batch_tokens=4096 training.steps=700 \
        training.warmup_steps=50 training.cooldown_steps=650 training.max_tokens=128 training.evaluate_every=350 \
        training.average=1 -- --initial "$2"
    train classification/sst2 sst2-imdb-minilm $tune $rate=1e-4 training.batch_tokens=2048 training.steps=250 \
        training.warmup_steps=30 training.cooldown_steps=220 training.evaluate_every=50 \
        -- --initial runs/imdb-minilm/checkpoint
    train classification/trec trec-minilm $tune $rate=1e-4 training.batch_tokens=2048 training.steps=250 \
        training.warmup_steps=30 training.cooldown_steps=220 training.evaluate_every=50 -- --initial "$2"
    train classification/trec trec-lora $tune $rate=1e-3 training.batch_tokens=2048 training.steps=250 \
        training.warmup_steps=30 training.cooldown_steps=220 training.evaluate_every=50 training.lora_rank=8 -- --initial "$2"
    fine="$tune model.ngrams=2 training.label_smoothing=0.1 training.batch_tokens=2048"
    train classification/trec-fine trec-fine-minilm $fine $rate=2e-4 training.steps=350 training.warmup_steps=30 \
        training.cooldown_steps=320 training.evaluate_every=100 -- --initial "$2"
    train classification/trec trec-trec-minilm $fine $rate=1e-4 training.steps=150 training.warmup_steps=20 \
        training.cooldown_steps=130 training.evaluate_every=30 -- --initial runs/trec-fine-minilm/checkpoint
    train labelling/masc-pos masc-pos-minilm-subwords $tune $rate=2e-4 training.batch_tokens=4096 training.steps=360 \
        training.warmup_steps=36 training.cooldown_steps=324 training.evaluate_every=180 training.average=1 \
        model.character_filters=0 -- --initial "$2"
    train labelling/masc-pos masc-pos-minilm $tune $rate=3e-4 training.batch_tokens=2048 training.steps=1200 \
        training.warmup_steps=100 training.cooldown_steps=1100 training.evaluate_every=300 training.average=1 \
        training.label_smoothing=0.1 model.character_filters=128 -- --initial "$2"
    train labelling/masc-pos masc-pos-minilm-longer $tune $rate=2e-4 training.batch_tokens=2048 training.steps=450 \
        training.warmup_steps=20 training.cooldown_steps=430 training.evaluate_every=225 training.average=1 \
        training.label_smoothing=0.1 training.seed=2 model.character_filters=128 -- --initial runs/masc-pos-minilm/checkpoint
    ;;
pretraining)
    mkdir -p runs
    {
        gzip -dc "$texts/imdb/train.tsv.gz" | cut -f 2
        cut -f 2 "$texts/sst2/train.tsv"
        cut -f 3 "$texts/trec/train.tsv"
    } >runs/texts.txt
    train pretraining/texts pretrained training.lowercase=true training.precision=mixed_bfloat16 model.hidden_dim=256 \
        model.intermediate_dim=1024 training.steps=2500 training.warmup_steps=300 training.cooldown_steps=1800 \
        training.evaluate_every=100
    train pretraining/texts pretrained-longer training.lowercase=true training.precision=mixed_bfloat16 \
        model.hidden_dim=256 model.intermediate_dim=1024 training.steps=2500 training.warmup_steps=200 \
        training.cooldown_steps=2200 training.evaluate_every=250 training.seed=2 -- --initial runs/pretrained/checkpoint
    short="training.precision=mixed_bfloat16 training.steps=900 training.warmup_steps=200 training.evaluate_every=150"
    for seed in 1 2 3; do
        train classification/sst2 "sst2-pretrained-$seed" $short training.cooldown_steps=700 training.seed=$seed \
            model.ngrams=1 training.subword_dropout=0.1 -- --initial runs/pretrained-longer/checkpoint
        train classification/sst2 "sst2-pretrained-plain-$seed" $short training.cooldown_steps=700 training.seed=$seed \
            training.subword_dropout=0.1 -- --initial runs/pretrained-longer/checkpoint
        train classification/sst2 "sst2-same-sizes-$seed" $short training.cooldown_steps=700 training.seed=$seed \
            training.subword_dropout=0.1 model.hidden_dim=256 model.intermediate_dim=1024 model.activation=gelu \
            -- --vocabulary runs/pretrained-longer/vocabulary.model
    done
    train classification/trec trec-pretrained $short training.cooldown_steps=800 training.warmup_steps=100 model.ngrams=2 \
        training.peak_learning_rate=5e-4 training.token_dropout=0.1 -- --initial runs/pretrained-longer/checkpoint
    ;;
esac
