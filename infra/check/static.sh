#!/usr/bin/env bash
# What can be said about the code without running it.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh go

unformatted=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'not formatted (gofmt -w):\n%s\n' "$unformatted" >&2
	exit 1
fi
go mod tidy -diff
go vet ./...
.toolhost/ci/bin/staticcheck ./...
for script in $(git ls-files '*.sh') .ci/run; do
	bash -n "$script"
done
