#!/usr/bin/env bash
# Clients that others wrote, against the fixtures on the local stack, with
# nothing in between: the official client of the Tasks extension, the Inspector,
# and two in Python. clients/ pins them; the scripts are in
# infra/conformance/clients.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh node clients
ci="$PWD/.toolhost/ci" scripts="$PWD/infra/conformance/clients"
export PATH="$ci/node/node_modules/.bin:$ci/clients/node_modules/.bin:$PATH"
# Node looks for packages beside the script.
cp "$scripts/tasks.mjs" "$ci/clients/"

go build -o "$ci/bin/fixtures" ./infra/conformance
# Its log holds the panics and cancels that are asked for here.
exec 3< <(exec "$ci/bin/fixtures" serve --port 0 2>"$ci/clients/server.log")
server=$!
trap 'kill "$server"' EXIT
read -r -t 60 said <&3
url=$(grep -oE 'http://[^ ]+/mcp' <<<"$said")

# prove NAME PROMISES COMMAND… runs a client, and wants all promises in its output.
prove() {
	local name=$1 promises=$2 out
	shift 2
	echo "---- $name"
	out=$(timeout 300 "$@") || { echo "$out"; exit 1; }
	for promise in $promises; do
		grep -Eq "^ok ([0-9]+ - )?$promise\$" <<<"$out" || { echo "$out"; echo "$name left $promise out" >&2; exit 1; }
		echo "ok $promise"
	done
}
flow="lists sync task questions tool-error failure composition cancel legacy"
prove ext-tasks "$flow partial decline listen resume unknown undeclared older-shapes" node --test-reporter=tap "$ci/clients/tasks.mjs" "$url"
prove inspector "$flow partial unasked" "$scripts/inspector.sh" "$url"
prove python "$flow undeclared" "$ci/clients/python/bin/python" "$scripts/client.py" "$url"
