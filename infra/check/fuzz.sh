#!/usr/bin/env bash
# Every fuzz target for a while, 10 s each unless FUZZTIME says otherwise: no
# panic, no 5xx, and valid JSON-RPC out. What a run finds is kept by Go under
# testdata/fuzz, and is a test from then on.
set -euo pipefail
cd "$(dirname "$0")/../.."
ran=0
while IFS=: read -r file _ line; do
	target=${line#func }
	target=${target%%(*}
	echo "== ${file%/*} $target"
	go test "./${file%/*}" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 10x -parallel 2
	ran=$((ran + 1))
done < <(git grep -n '^func Fuzz' -- '*_test.go')
echo "$ran fuzz targets"
[ "$ran" -ge 14 ]
