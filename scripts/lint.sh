#!/bin/bash
# Static checks of the tree: format, rooms, headers that stand alone, shell scripts, clang-tidy and
# cppcheck. Prints every complaint; status 1 if there was one. `make lint` calls it with the
# compiler's flags in CHECK_FLAGS.
# shellcheck disable=SC2317,SC2016 # the checks are called through step; bash -c expands its own
set -u
cd "$(dirname "$0")/.." || exit 2

mapfile -t sources < <(find src ui tests -name '*.c' | sort)
mapfile -t headers < <(find src ui tests -name '*.h' | sort)
mapfile -t shells < <(find scripts .ci tests -type f \( -name '*.sh' -o -path '.ci/*' \) | sort)
read -r -a flags <<<"${CHECK_FLAGS:--std=c11 -D_GNU_SOURCE -Isrc -I. -Itests}"
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
status=0

step() {
    local name=$1
    shift
    echo "lint: $name"
    "$@" || {
        echo "lint: $name: failed"
        status=1
    }
}

formatted() {
    clang-format --dry-run --Werror "${sources[@]}" "${headers[@]}"
}

headers_alone() {
    printf '%s\0' "${headers[@]}" |
        xargs -0 -n 1 -P "$jobs" gcc "${flags[@]}" -Werror -Wno-unused -fsyntax-only -x c
}

tidy() {
    printf '%s\0' "${sources[@]}" | xargs -0 -n 4 -P "$jobs" \
        bash -c 'clang-tidy --quiet --warnings-as-errors="*" "${@:1}" -- '"${flags[*]@Q}"' \
            2> >(grep -v "warnings\? generated\|^Suppressed\|^Use -header" >&2)' tidy
}

check_cpp() {
    cppcheck --quiet --std=c11 --language=c --enable=warning,portability,performance \
        --inline-suppr --suppress=missingIncludeSystem \
        --suppress=varFuncNullUB --error-exitcode=1 -j "$jobs" \
        -Isrc -I. -Itests -D_GNU_SOURCE src ui
}

step "clang-format" formatted
step "rooms" scripts/check_rooms.sh
step "headers stand alone" headers_alone
step "shellcheck" shellcheck "${shells[@]}"
step "cppcheck" check_cpp
step "clang-tidy" tidy
[ "$status" -eq 0 ] && echo "lint: clean"
exit "$status"
