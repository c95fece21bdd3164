#!/usr/bin/env bash
# gosec over what is deployed and what runs on a user's machine. An exception
# stands in the code, with its reason. G104, unhandled errors, is staticcheck's
# and a reader's business.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh go
.toolhost/ci/bin/gosec -quiet -exclude=G104 ./pkg/... ./functions/... ./infra/local/... ./infra/toolhost/...
echo "gosec: nothing found"
