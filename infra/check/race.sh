#!/usr/bin/env bash
# All tests once more, with the race detector (which needs a C compiler).
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh compiler
CGO_ENABLED=1 go test -race -timeout 20m ./...
