#!/usr/bin/env bash
# Go on with the gallery's tables, in their order of importance, for so many minutes:  bash gallery/make.sh 9.3
# or with some of them:  bash gallery/make.sh 9.3 gelu wide       KEEP (1) is how many networks of each verdict are kept.
# ARCHIVE=FILE puts all tables (no networks) into a tar file after each sweep, for a machine that may be taken away.
# Every sweep goes on where it stopped; what is complete costs a few seconds. From the root of the project.
set -euo pipefail
minutes=${1:?how many minutes}
python=${PYTHON:-.venv/bin/python}
end=$(($(date +%s) + $(awk "BEGIN {print int(60 * $minutes)}")))
shift
spaces=("$@")
((${#spaces[@]})) || spaces=(fixed-width varying-width layers-2 layers-3 layers-4 gelu separate-vocabularies equals-sign \
  linear-alpha linear-beta linear-gamma linear-delta linear-alpha-prime clock-training pizza-training wide)
for space in "${spaces[@]}"; do
  left=$(awk "BEGIN {printf \"%.2f\", ($end - $(date +%s)) / 60}")
  if awk "BEGIN {exit !($left < 0.7)}"; then break; fi
  echo "== $space, $left minutes left"
  "$python" -m algophase sweep "$space" --out "gallery/$space" --minutes "$left" --keep-weights "${KEEP:-1}"
  if [[ -n ${ARCHIVE:-} ]]; then
    find gallery \( -name '*.parquet' -o -name sweep.json \) -print0 | tar --create --file "$ARCHIVE.part" --null --files-from -
    mv "$ARCHIVE.part" "$ARCHIVE"
  fi
done
