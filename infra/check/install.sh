#!/usr/bin/env bash
# Installs what the checks need besides Go, pinned, into .toolhost/ci: the Go
# tools of go.mod here, the Python tools of requirements.txt, node/'s packages
# with a Node of their own, the MCP servers of servers/ and the clients of
# clients/. What is there already is kept. It needs python3 with venv, npm, a C
# compiler for the race detector, and a network, and says what is missing.
#
#   infra/check/install.sh compiler go python node servers clients
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

# need COMMAND WHAT says what is missing, if the command is not there.
need() {
	command -v "$1" >/dev/null || { echo "install.sh: $2 is missing" >&2; exit 1; }
}
venv() {
	need python3 "python3"
	python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "install.sh: python3's venv is missing (on Debian, python3-venv)" >&2; exit 1; }
	python3 -m venv "$1"
}
packages() {
	need npm "npm (it comes with Node)"
	npm ci --silent --no-audit --no-fund --prefix "$1"
}

for what in "$@"; do
	case $what in
	compiler)
		need "$(go env CC)" "a C compiler ($(go env CC)), for the race detector,"
		;;
	go)
		fresh go go.mod go.sum && continue
		mkdir -p "$ci/bin"
		go build -o "$ci/bin/" tool
		done_with go go.mod go.sum
		;;
	python)
		fresh python requirements.txt && continue
		venv "$ci/python"
		"$ci/python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
		done_with python requirements.txt
		;;
	node)
		fresh node node/package.json node/package-lock.json && continue
		mkdir -p "$ci/node"
		cp node/package.json node/package-lock.json "$ci/node/"
		packages "$ci/node"
		done_with node node/package.json node/package-lock.json
		;;
	servers | clients)
		fresh "$what" "$what"/* && continue
		mkdir -p "$ci/$what"
		cp "$what/package.json" "$what/package-lock.json" "$ci/$what/"
		packages "$ci/$what"
		venv "$ci/$what/python"
		"$ci/$what/python/bin/pip" install --quiet --disable-pip-version-check -r "$what/requirements.txt"
		done_with "$what" "$what"/*
		;;
	*)
		echo "install.sh: nothing is called $what" >&2
		exit 2
		;;
	esac
done
