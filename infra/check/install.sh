#!/usr/bin/env bash
# Installs what the checks need besides Go, pinned, into .toolhost/ci: the Go
# tools of go.mod here, the Python tools of requirements.txt, node/'s packages
# with a Node of their own, the MCP servers of servers/ and the clients of
# clients/. What is there already is kept.
#
#   infra/check/install.sh go python node servers clients
set -euo pipefail
cd "$(dirname "$0")"
ci=../../.toolhost/ci
mkdir -p "$ci"
ci=$(cd "$ci" && pwd)

# fresh NAME FILE… says whether NAME was installed from just these files.
fresh() {
	local stamp="$ci/$1.installed"
	shift
	[ "$(cat "$@" | cksum)" = "$(cat "$stamp" 2>/dev/null)" ]
}
done_with() {
	local stamp="$ci/$1.installed"
	shift
	cat "$@" | cksum >"$stamp"
}

for what in "$@"; do
	case $what in
	go)
		fresh go go.mod go.sum && continue
		mkdir -p "$ci/bin"
		go build -o "$ci/bin/" tool
		done_with go go.mod go.sum
		;;
	python)
		fresh python requirements.txt && continue
		python3 -m venv "$ci/python"
		"$ci/python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
		done_with python requirements.txt
		;;
	node)
		fresh node node/package.json node/package-lock.json && continue
		mkdir -p "$ci/node"
		cp node/package.json node/package-lock.json "$ci/node/"
		npm ci --silent --no-audit --no-fund --prefix "$ci/node"
		done_with node node/package.json node/package-lock.json
		;;
	servers | clients)
		fresh "$what" "$what"/* && continue
		mkdir -p "$ci/$what"
		cp "$what/package.json" "$what/package-lock.json" "$ci/$what/"
		npm ci --silent --no-audit --no-fund --prefix "$ci/$what"
		python3 -m venv "$ci/$what/python"
		"$ci/$what/python/bin/pip" install --quiet --disable-pip-version-check -r "$what/requirements.txt"
		done_with "$what" "$what"/*
		;;
	*)
		echo "install.sh: nothing is called $what" >&2
		exit 2
		;;
	esac
done
