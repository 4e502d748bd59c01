#!/bin/sh
# A language model of Shakespeare's plays, 3.3 M parameters, characters: 1.48 nats a character on the last tenth of
# tinyshakespeare, in an hour on two CPU cores in bfloat16. Run again, it goes on.
#
#     export KERAS_TRANSFORMER_DATA=...  # holds language/tinyshakespeare
#     sh examples/shakespeare.sh
set -e
: "${KERAS_TRANSFORMER_DATA:?Set it to the folder of the corpora.}"
data=$KERAS_TRANSFORMER_DATA/language/tinyshakespeare output=runs/shakespeare
[ -d "$output/checkpoint" ] || python -m zoo.language_modelling train --recipe base --data "$data/train.txt" \
    --dev-data "$data/val.txt" --output "$output" --card examples/cards/shakespeare.json
python -m zoo.language_modelling evaluate --checkpoint "$output/checkpoint" --data "$data/val.txt" \
    --ngrams "$data/train.txt"
python -m zoo.language_modelling generate --checkpoint "$output/checkpoint" --text "ROMEO:\n" --temperature 0.8
