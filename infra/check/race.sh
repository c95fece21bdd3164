#!/usr/bin/env bash
# All tests once more, with the race detector (which needs a C compiler).
set -euo pipefail
cd "$(dirname "$0")/../.."
CGO_ENABLED=1 go test -race -timeout 20m ./...
