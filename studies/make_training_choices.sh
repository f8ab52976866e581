#!/usr/bin/env bash
# Make the tables of studies/training_choices.py on a GPU, within so many minutes, in the order of their cost:
#
#   bash studies/make_training_choices.sh 9.5                    # all; every sweep goes on where it stopped
#   bash studies/make_training_choices.sh 9.5 decay muon         # some
#
#   TABLES (gallery), KEEP (none), PYTHON, ALGOPHASE_COMMIT: as for gallery/make.sh
#
# Estimated on an H200: decay 110 s, muon 85 s, norm 90 s, stablemax 150 s, float64 250 s.
set -euo pipefail
minutes=${1:?how many minutes}
python=${PYTHON:-.venv/bin/python}
tables=${TABLES:-gallery}
end=$(($(date +%s) + $(awk "BEGIN {print int(60 * $minutes)}")))
shift
questions=("$@")
((${#questions[@]})) || questions=(decay muon norm stablemax float64)

# sweep TABLE SPACE OPTION...
sweep() {
  local table=$tables/$1 space=$2 left
  shift 2
  left=$(awk "BEGIN {printf \"%.2f\", ($end - $(date +%s)) / 60}")
  if awk "BEGIN {exit !($left < 0.3)}"; then
    echo "== $table: no time left"
    return
  fi
  echo "== $table, $left minutes left: $*"
  "$python" -m algophase sweep "$space" --out "$table" --minutes "$left" --keep-weights "${KEEP:-none}" "$@"
}

for question in "${questions[@]}"; do
  if [[ $question == float64 ]]; then
    # PyTorch's loss in float32 and in float64, products in float32; then ours as it is published, in half
    sweep float64-arms float64-arms --part 1/3 --engine stacked --precision float32
    sweep float64-arms float64-arms --part 2/3 --engine stacked --precision float32
    sweep float64-arms float64-arms --part 3/3
    # 32 networks in float64 throughout
    sweep float64-all float64-arms --part 2/3 --runs 96 --engine stacked --precision float64
  else
    sweep "$question-arms" "$question-arms"
  fi
done
