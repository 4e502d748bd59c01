#!/bin/sh
# The robust translators of everyday text, English to and from German and French, on two CPU cores: three hours for each
# training run in bfloat16. Run again, it goes on.
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

# shellcheck disable=SC2086
[ -d "$output/checkpoint" ] || python -m zoo.translation train --recipe robust --data "$data/train.tsv.gz" \
    --columns $columns --dev-data "$data/dev.tsv" --dev-columns $columns --output "$output"
python benchmarks/robustness.py --checkpoint "$output/checkpoint" --data "$data/dev.tsv" --columns $columns \
    --language "${1%-*}"
