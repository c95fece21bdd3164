#!/usr/bin/env bash
# The official conformance suite against the fixtures, and its baseline.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh node
PATH="$PWD/.toolhost/ci/node/node_modules/.bin:$PATH" go run ./infra/conformance
