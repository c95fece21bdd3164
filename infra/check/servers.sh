#!/usr/bin/env bash
# tool.FromSession with servers that others wrote: one in Node, from npm, and one
# in Python, from PyPI. servers/ pins both.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh node servers
ci="$PWD/.toolhost/ci"
export TOOLHOST_TEST_NODE_SERVER="$ci/node/node_modules/.bin/node $ci/servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio"
export TOOLHOST_TEST_PYTHON_SERVER="$ci/servers/python/bin/mcp-server-time"
out=$(go test -count=1 -v ./pkg/tool -run TestFromSession) || { echo "$out"; exit 1; }
echo "$out"
for name in TestFromSessionNode TestFromSessionPython; do
	grep -q -- "--- PASS: $name " <<<"$out" || { echo "$name was left out" >&2; exit 1; }
done
