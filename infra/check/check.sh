#!/usr/bin/env bash
# Runs all checks, two at a time, and says at the end how each went. A check
# that can't run here (exit code 77) counts as failed, but for those that ask
# somebody else's server.
#
#   infra/check/check.sh [NAME…]
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=.toolhost/ci/log
mkdir -p "$logs"
all=(race static security template emulators conformance fuzz servers clients vulnerabilities)
[ $# -gt 0 ] && all=("$@")
may_be_left_out=vulnerabilities

# installing first: two checks at once would get into each other's way.
infra/check/install.sh go python node servers clients || exit 1

run() {
	local began=$SECONDS status=0
	"infra/check/$1.sh" >"$logs/$1.log" 2>&1 </dev/null || status=$?
	echo "$status $((SECONDS - began))" >"$logs/$1.status"
	echo "  $1: exit code $status after $((SECONDS - began)) s"
}
export -f run
export logs
rm -f "$logs"/*.status
printf '%s\n' "${all[@]}" | xargs -P 2 -I NAME bash -c 'run NAME'

passed=0 failed=0 left=0
for name in "${all[@]}"; do
	read -r status seconds <"$logs/$name.status" || status=missing seconds=0
	case $status in
	0) passed=$((passed + 1)) verdict=passed ;;
	77)
		verdict="NOT RUN, $(tail -1 "$logs/$name.log")"
		if [ "$name" = "$may_be_left_out" ]; then left=$((left + 1)); else failed=$((failed + 1)); fi
		;;
	*)
		failed=$((failed + 1)) verdict="FAILED, see $logs/$name.log"
		echo "---- $name"
		tail -60 "$logs/$name.log"
		;;
	esac
	results+=("$(printf '%-16s %5s s  %s' "$name" "$seconds" "$verdict")")
done
echo
printf '%s\n' "${results[@]}"
echo "checks: $passed passed, $failed failed, $left skipped"
[ "$failed" = 0 ]
