#!/usr/bin/env bash
# Runs the suites of the drivers against implementations of DynamoDB and SQS
# that others wrote: moto (both), dynalite and fauxqs. It installs them under
# the directory that is given, or .toolhost/ci, starts each on a free port of
# the loopback interface, and stops it again.
#
#   infra/emulator/drivertest/independent.sh [directory]
#
# Needs Python 3.10 and Node 22.5 (NODE names another node). What is missing is
# left out and named; the exit code is 0 only if nothing failed or was left out.
set -euo pipefail

cd "$(dirname "$0")/../../.."
package=./infra/emulator/drivertest
mkdir -p "${1:-.toolhost/ci}"
cache=$(cd "${1:-.toolhost/ci}" && pwd)
node=${NODE:-node}

moto='moto[server]==5.2.5'
npm_packages=(dynalite@4.0.0 fauxqs@2.4.1)

running=()
missed=()
trap 'for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done' EXIT

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start NAME PORT COMMAND… leaves the server's pid in running once it answers.
start() {
	local name=$1 port=$2 pid
	shift 2
	"$@" >"$cache/$name.log" 2>&1 &
	pid=$!
	running+=("$pid")
	for _ in $(seq 150); do
		if curl --silent --output /dev/null "http://127.0.0.1:$port/"; then return 0; fi
		if ! kill -0 "$pid" 2>/dev/null; then break; fi
		sleep 0.2
	done
	echo "$name does not answer:" >&2
	tail -20 "$cache/$name.log" >&2
	return 1
}

# suite TEST IMPLEMENTATION VARIABLE PORT runs one suite and makes sure that it ran.
suite() {
	local log="$cache/$1-$2.log"
	echo "== $1 on $2"
	env TOOLHOST_TEST_INDEPENDENT="$2" "$3=http://127.0.0.1:$4" \
		go test -count=1 -v -timeout 10m -run "^$1\$" "$package" >"$log" 2>&1 || true
	grep -E 'not here: ' "$log" | sed 's/^ */   /' || true
	if grep -q "^--- PASS: $1 " "$log"; then
		grep "^ok" "$log"
	else
		tail -40 "$log"
		missed+=("$1 on $2")
	fi
}

if python3 -m venv "$cache/venv" && "$cache/venv/bin/pip" install --quiet "$moto"; then
	port=$(free_port)
	if start moto "$port" "$cache/venv/bin/moto_server" -H 127.0.0.1 -p "$port"; then
		suite TestStoreIndependent moto TOOLHOST_TEST_DYNAMODB_URL "$port"
		suite TestQueueIndependent moto TOOLHOST_TEST_SQS_URL "$port"
	else
		missed+=(moto)
	fi
else
	missed+=(moto)
fi

if npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$cache" "${npm_packages[@]}"; then
	port=$(free_port)
	if start dynalite "$port" "$node" "$cache/node_modules/dynalite/cli.js" --host 127.0.0.1 --port "$port" --createTableMs 0; then
		suite TestStoreIndependent dynalite TOOLHOST_TEST_DYNAMODB_URL "$port"
	else
		missed+=(dynalite)
	fi
	# Its own command listens on all interfaces.
	port=$(free_port)
	cat >"$cache/fauxqs.mjs" <<-JS
		import { buildApp } from "fauxqs"
		await (await buildApp({ logger: false })).listen({ host: "127.0.0.1", port: Number(process.argv[2]) })
	JS
	if start fauxqs "$port" "$node" "$cache/fauxqs.mjs" "$port"; then
		suite TestQueueIndependent fauxqs TOOLHOST_TEST_SQS_URL "$port"
	else
		missed+=(fauxqs)
	fi
else
	missed+=(dynalite fauxqs)
fi

if ((${#missed[@]})); then
	printf 'failed or left out: %s\n' "${missed[@]}" >&2
	exit 1
fi
