#!/usr/bin/env bash
# Make the gallery's tables, each as large as its space says, for so many minutes:  bash gallery/make.sh 9.3
# or some of them:  bash gallery/make.sh 9.3 gelu wide
#
#   TABLES (gallery)   where the tables are, one directory each
#   KEEP (1)           networks of each verdict to keep, or none
#   MIX (nothing)      1 continues tables that another version of the code began
#   ARCHIVE (nothing)  after each sweep, all tables (no networks) as ARCHIVE.00, ARCHIVE.01, ... of 15 MiB, for a machine that
#                      may be taken away; `cat ARCHIVE.* | tar --extract` brings them back, here or where the next sitting is
#   PYTHON             the interpreter; ALGOPHASE_COMMIT the commit, needed where there is no repository
#
# Every sweep goes on where it stopped, and one that is complete is skipped. A table that another commit or version began is
# refused without MIX=1: choose another TABLES. From the root of the project.
set -euo pipefail
minutes=${1:?how many minutes}
python=${PYTHON:-.venv/bin/python}
tables=${TABLES:-gallery}
end=$(($(date +%s) + $(awk "BEGIN {print int(60 * $minutes)}")))
shift
if [[ -z ${ALGOPHASE_COMMIT:-} ]] && ! git rev-parse --verify --quiet HEAD >/dev/null; then
  echo "there is no repository here: say in ALGOPHASE_COMMIT which commit this is" >&2
  exit 1
fi
spaces=("$@")
((${#spaces[@]})) || spaces=(fixed-width varying-width layers-2 layers-3 layers-4 gelu separate-vocabularies equals-sign \
  linear-alpha linear-beta linear-gamma linear-delta linear-alpha-prime wide clock-training pizza-training \
  hidden-layer emergence moduli large-moduli largest-modulus cosets data decay heads groups groups-arms trios \
  norm-arms learnable-norm-arms muon-arms stablemax-arms decay-arms) # float64-arms, arm by arm: studies/make_training_choices.sh

# Runs that a table has, by the names of its shards (runs-FIRST-COUNT-ID), and that its space asks for.
runs() { find "$1" -maxdepth 1 -name 'runs-*' | awk -F- '{count += $(NF - 1)} END {print count + 0}'; }
wanted() { sed -n 's/^  "runs": \([0-9]*\),$/\1/p' "$1/sweep.json"; }

for space in "${spaces[@]}"; do
  table=$tables/$space
  if [[ -e $table/sweep.json ]] && (($(runs "$table") >= $(wanted "$table"))); then
    echo "== $space is complete"
    continue
  fi
  left=$(awk "BEGIN {printf \"%.2f\", ($end - $(date +%s)) / 60}")
  if awk "BEGIN {exit !($left < 0.7)}"; then break; fi
  echo "== $space, $left minutes left"
  options=(--out "$table" --minutes "$left" --keep-weights "${KEEP:-1}")
  if [[ ${MIX:-} == 1 ]]; then options+=(--mix-versions); fi
  "$python" -m algophase sweep "$space" "${options[@]}"
  if [[ -n ${ARCHIVE:-} ]]; then
    find "$tables" \( -name '*.parquet' -o -name sweep.json \) -print0 | tar --create --null --files-from - |
      split --bytes 15M --numeric-suffixes - "$ARCHIVE.new"
    for part in "$ARCHIVE".new*; do mv "$part" "${part/.new/.}"; done
  fi
done
