#!/usr/bin/env bash
# Every fuzz target for a while, 10 s each unless FUZZTIME says otherwise: no
# panic, no 5xx, and valid JSON-RPC out. What a run finds is kept by Go under
# testdata/fuzz, and is a test from then on.
# There already are some of what longer runs, of five minutes each, found worth keeping.
set -euo pipefail
cd "$(dirname "$0")/../.."
ran=0 log=$(mktemp)
trap 'rm -f "$log"' EXIT
while IFS=: read -r file _ line; do
	target=${line#func }
	target=${target%%(*}
	echo "== ${file%/*} $target"
	if ! go test "./${file%/*}" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 10x -parallel 2 >"$log" 2>&1; then
		# Go's fuzzer itself fails now and then because its time is up: go.dev/issue/75804,
		# mended in Go 1.27.
		# It has then found nothing: a find comes with the input that failed.
		if ! grep -q '^    context deadline exceeded' "$log" || grep -qE 'Failing input|panic:|_test.go:' "$log"; then
			cat "$log"
			exit 1
		fi
	fi
	tail -2 "$log"
	ran=$((ran + 1))
done < <(git grep -n '^func Fuzz' -- '*_test.go')
echo "$ran fuzz targets"
least=14 # as many as there were once: fewer, and the search for them is broken
[ "$ran" -ge "$least" ]
