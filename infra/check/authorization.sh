#!/usr/bin/env bash
# Callers who have to say who they are: the local stack with OAuth, a real
# authorization server, and the official client's own way from one to the other.
# The scripts are in infra/conformance/clients.
set -euo pipefail
cd "$(dirname "$0")/../.."
infra/check/install.sh node clients
ci="$PWD/.toolhost/ci" scripts="$PWD/infra/conformance/clients"
export PATH="$ci/node/node_modules/.bin:$PATH"
# Node looks for packages beside the script.
cp "$scripts/issuer.mjs" "$scripts/authorize.mjs" "$ci/clients/"
go build -o "$ci/bin/toolhost" ./infra/toolhost

exec 3< <(exec node "$ci/clients/issuer.mjs" 2>"$ci/clients/issuer.log")
issuer_process=$!
trap 'kill "$issuer_process"' EXIT
read -r -t 60 issuer <&3
exec 4< <(exec "$ci/bin/toolhost" dev --port 0 --auth oauth --issuer "$issuer" --scopes mcp 2>"$ci/clients/authorized.log")
server=$!
trap 'kill "$server" "$issuer_process"' EXIT
url=
while [ -z "$url" ] && read -r -t 60 said <&4; do
	url=$(grep -oE 'http://[^ ]+/mcp' <<<"$said" || true)
done

out=$(timeout 300 node --test-reporter=tap "$ci/clients/authorize.mjs" "$url") || { echo "$out"; exit 1; }
for promise in unauthorized way-in owner step-up another-audience forged; do
	grep -Eq "^ok ([0-9]+ - )?$promise\$" <<<"$out" || { echo "$out"; echo "$promise was left out" >&2; exit 1; }
	echo "ok $promise"
done
