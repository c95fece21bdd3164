#!/usr/bin/env bash
# Runs all checks, or those that are named, two at a time, and says at the end
# how each went. A check that can't run here ends with the exit code 77 and counts
# as failed. Only vulnerabilities may be left out, since it alone asks somebody
# else's server while it runs.
#
#   infra/check/check.sh [NAME…]
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=.toolhost/ci/log
mkdir -p "$logs"
all=(race static security template emulators conformance fuzz servers clients authorization vulnerabilities)
[ $# -gt 0 ] && all=("$@")
may_be_left_out=vulnerabilities

for name in "${all[@]}"; do
	[ -x "infra/check/$name.sh" ] || { echo "check.sh: there is no check $name" >&2; exit 2; }
done
echo "checks: ${all[*]}"
echo "logs:   $logs"

# What the checks install they install first: two at once would get into each
# other's way.
needs=$(for name in "${all[@]}"; do sed -n 's#^infra/check/install.sh ##p' "infra/check/$name.sh"; done | tr ' ' '\n' | sort -u)
# shellcheck disable=SC2086 # words, not one
infra/check/install.sh $needs || exit 1

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
