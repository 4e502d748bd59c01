#!/bin/sh
# How the shipped classifiers and the tagger were made, and the other figures of the README's table of encoders.
#
#     export KERAS_TRANSFORMER_DATA=...   # holds classification/{sst2,trec,imdb} and labelling/masc_pos
#     sh examples/encoders.sh                     # what is shipped: about two hours on two CPU cores
#     sh examples/encoders.sh scratch             # from random weights, three seeds
#     sh examples/encoders.sh minilm FOLDER       # fine-tuned from a Hugging Face folder of all-MiniLM-L6-v2
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
texts=$KERAS_TRANSFORMER_DATA/classification
masc="--data $KERAS_TRANSFORMER_DATA/labelling/masc_pos/train.tsv.gz
    --dev-data $KERAS_TRANSFORMER_DATA/labelling/masc_pos/dev.tsv --unknown-labels wrong"
sst2="--data $texts/sst2/train.tsv --dev-data $texts/sst2/dev.tsv"
trec="--data $texts/trec/train.tsv --columns 0 2 --dev-data $texts/trec/dev.tsv --dev-columns 0 2"
imdb="--data $texts/imdb/train.tsv.gz --dev-data $texts/imdb/dev.tsv.gz"

train() { # TASK OUTPUT ARGUMENT... NAME=VALUE...
    task=$1 output=runs/$2
    shift 2
    [ -d "$output/checkpoint" ] || python -m "zoo.$task" train --output "$output" "$@"
}
