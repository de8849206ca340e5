#!/bin/bash
# Runs every test program given, prints its lines, and ends with one line over all of them:
# "N passed, N failed". Status 1 if anything failed. A program that dies outside a test counts as
# one failure.
set -u

# cmocka's own handlers would hide a sanitizer's report of a crash.
export ASAN_OPTIONS="${ASAN_OPTIONS:-allow_user_segv_handler=0}"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
jobs=${TEST_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}

run_one() {
    local status=0 log
    log=$1/$(echo "$2" | tr / _)
    echo "== ${2#build/}" >"$log"
    timeout "${TEST_TIMEOUT:-240}" "$2" >>"$log" 2>&1 </dev/null || status=$?
    echo "$status" >"$log.status"
    cat "$log"
}
export -f run_one
# shellcheck disable=SC2016 # bash -c expands its own arguments
printf '%s\0' "$@" | xargs -0 -r -n 1 -P "$jobs" bash -c 'run_one "$0" "$1"' "$logs"

passed=0 failed=0 skipped=0 broken=()
for log in "$logs"/*.status; do
    [ -e "$log" ] || continue
    status=$(cat "$log")
    log=${log%.status}
    run=$(grep -c '\[ RUN      \]' "$log")
    ok=$(grep -c '\[       OK \]' "$log")
    skip=$(grep -o '\[  SKIPPED \] [a-z_].*' "$log" | sort -u | wc -l) # cmocka names each twice
    bad=$((run - ok - skip))
    if [ "$status" -ne 0 ] && [ "$bad" -le 0 ]; then
        bad=1
    fi
    if [ "$bad" -gt 0 ]; then
        broken+=("$(sed -n '1s/^== //p' "$log") (status $status)")
        failed=$((failed + bad))
    fi
    passed=$((passed + ok))
    skipped=$((skipped + skip))
done
if [ ${#broken[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${broken[@]}"
fi
if [ "$skipped" -gt 0 ]; then
    echo "$skipped skipped"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
