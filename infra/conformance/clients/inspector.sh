#!/usr/bin/env bash
# The MCP Inspector against the server at URL, with nothing in between: its CLI,
# one command a connection, and mcpdo, one connection for many commands.
#
#   infra/conformance/clients/inspector.sh URL      mcp-inspector, mcpdo, node on PATH
#
# Case 47. One line is printed for each promise. Both commands keep what they
# remember in a home of their own, which is removed at the end.
set -euo pipefail
url=$1
HOME=$(mktemp -d)
export HOME MCP_INSPECTOR_SECRET_STORE=file
# mcpdo's daemon, which nobody else shares.
exports=$(mcpdo private 2>/dev/null)
eval "$exports"
trap 'mcpdo daemon stop >/dev/null 2>&1 || true; rm -rf "$HOME" "$MCP_INSPECTOR_DAEMON_DIR"' EXIT

cli() { timeout 60 mcp-inspector --cli "$url" --format json "$@" </dev/null; }
mcpdo() { timeout 60 "$(type -P mcpdo)" --format json "$@" </dev/null; }
modern() { mcpdo --connection modern "$@"; }

# expect WHAT STATUS COMMAND… wants that exit code and, in the output, WHAT.
expect() {
	local what=$1 want=$2 status=0
	shift 2
	out=$("$@" 2>"$HOME/stderr") || status=$?
	out+=$(cat "$HOME/stderr")
	if [ "$status" != "$want" ] || ! grep -qF -- "$what" <<<"$out"; then
		printf 'no %s with exit code %s from: %s\nexit code %s:\n%s\n' "$what" "$want" "$*" "$status" "$out" >&2
		exit 1
	fi
}

# answer FIELD:=VALUE answers the question that the last output put.
answer() { mcpdo elicitation/respond "$(sed -n 's/.*"elicitationId": "\([^"]*\)".*/\1/p' <<<"$out")" "$@"; }

# create TOOL ARGUMENTS makes a task and prints its id. mcpdo's own call only
# returns when the task has ended, too late for tasks/get, update and cancel.
create() {
	node -e '
		const [url, name, args] = process.argv.slice(1), meta = "io.modelcontextprotocol/";
		fetch(url, {
			method: "POST",
			headers: {
				"content-type": "application/json", accept: "application/json, text/event-stream",
				"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name,
			},
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: JSON.parse(args), _meta: {
				[meta + "protocolVersion"]: "2026-07-28",
				[meta + "clientCapabilities"]: { elicitation: {}, extensions: { [meta + "tasks"]: {} } } } } }),
		}).then((r) => r.json()).then((r) => console.log(r.result.taskId));' "$url" "$@"
}

# until_status STATUS TASK asks again at the server's first interval.
until_status() {
	for _ in $(seq 30); do
		out=$(modern tasks/get "$2")
		grep -qF "\"status\": \"$1\"" <<<"$out" && return
		sleep 1
	done
	printf 'never %s:\n%s\n' "$1" "$out" >&2
	exit 1
}

expect '"protocolEra": "modern"' 0 mcpdo connect @modern "$url" --era modern
expect '"protocolVersion": "2026-07-28"' 0 modern connections/show

# R-N1, R-H7; --strict wants schemas that every client can take.
expect '"slow_compute"' 0 cli --protocol-era modern --method tools/list --strict
expect '"slow_compute"' 0 modern tools/list
echo "ok lists"

# R-N7
expect 'Hello, Ada!' 0 cli --protocol-era modern --method tools/call --tool-name greet --tool-arg name=Ada
expect 'Hello, Ada!' 0 modern tools/call greet name:=Ada
echo "ok sync"

# R-C1, R-G3
expect 'for 2 seconds.' 0 cli --protocol-era modern --method tools/call --tool-name slow_compute --tool-arg seconds=2
expect 'for 1 seconds.' 0 modern tools/call slow_compute seconds:=1
echo "ok task"

# R-G2, R-U1: two at once, one after the other here; and one that is declined.
expect 'What is your name?' 0 modern tools/call multi_input
expect 'Are you sure?' 0 answer name:=Ada
expect 'Ada, confirmed: true.' 0 answer confirm:=true
expect 'Delete a.txt?' 0 modern tools/call confirm_delete filename:=a.txt
expect 'a.txt was kept.' 0 answer --decline
echo "ok questions"

# R-G2, R-U3: the tasks/* commands by hand, on a task that another client made.
id=$(create multi_input '{}')
until_status input_required "$id"
expect '"updated": true' 0 modern tasks/update "$id" --input-responses '{"name":{"action":"accept","content":{"name":"Eve"}}}'
expect 'Are you sure?' 0 modern tasks/get "$id"
if grep -qF 'What is your name?' <<<"$out"; then
	echo "an answered question is still there: $out" >&2
	exit 1
fi
expect '"updated": true' 0 modern tasks/update "$id" --input-responses '{"confirm":{"action":"accept","content":{"confirm":true}}}'
expect 'Eve, confirmed: true.' 0 modern tasks/result "$id"
echo "ok partial"

# R-G3: exit code 5 is a tool's own error.
expect 'the job failed' 5 cli --protocol-era modern --method tools/call --tool-name failing_job
expect 'the job failed' 5 modern tools/call failing_job
echo "ok tool-error"

# R-G4, R-V4
expect '(reference ' 1 cli --protocol-era modern --method tools/call --tool-name protocol_error_job
expect '(reference ' 1 modern tools/call protocol_error_job
echo "ok failure"

# R-C4: the question comes before the task.
expect '"origin": "input-required"' 0 modern tools/call test_tool_with_task
expect 'Hello, Ada!' 0 answer name:=Ada
echo "ok composition"

# R-X1, R-X2, R-X3: while it runs, and again after its end.
id=$(create slow_compute '{"seconds":300}')
expect '"cancelled": true' 0 modern tasks/cancel "$id"
until_status cancelled "$id"
expect '"cancelled": true' 0 modern tasks/cancel "$id"
echo "ok cancel"

# R-N8, R-U8: the CLI can't ask anybody, and says so to the server.
expect 'capability' 1 cli --protocol-era modern --method tools/call --tool-name confirm_delete --tool-arg filename=a.txt
echo "ok unasked"

# R-B2, R-B3: by initialize, without a task and, for 2025-11-25, as one.
expect '"protocolEra": "legacy"' 0 mcpdo connect @legacy "$url" --era legacy
expect 'Hello, Ada!' 0 cli --method tools/call --tool-name greet --tool-arg name=Ada
expect 'for 1 seconds.' 0 mcpdo --connection legacy tools/call slow_compute seconds:=1
expect 'io.modelcontextprotocol/related-task' 0 mcpdo --connection legacy tools/call slow_compute seconds:=1 --task
echo "ok legacy"
