#!/bin/bash
# Dependencies point one way: a room of src/ may include itself and the rooms before it in the list
# below; src/ never includes ui/; ui/ includes session and base, except ui/main.c, which alone may
# also know cli. Each .c includes its own header first. Status 1 and one line per breach.
set -u
cd "$(dirname "$0")/.." || exit 2

rooms=(base input model cluster cost plan solve simulate export script session cli)
declare -A rank
for i in "${!rooms[@]}"; do
    rank[${rooms[i]}]=$i
done
status=0

breach() {
    echo "$1"
    status=1
}

while IFS=: read -r file line include; do
    target=$(sed -E 's/.*"([^"]*)".*/\1/' <<<"$include")
    room=${target%%/*}
    case $file in
    src/*)
        own=${file#src/}
        own=${own%%/*}
        if [ -z "${rank[$own]:-}" ]; then
            breach "$file: room '$own' is not in the list of scripts/check_rooms.sh"
        elif [ -z "${rank[$room]:-}" ]; then
            breach "$file:$line: \"$target\" is not in a room of src"
        elif [ "${rank[$room]}" -gt "${rank[$own]}" ]; then
            breach "$file:$line: $own may not include $room (\"$target\")"
        fi
        ;;
    ui/main.c) ;;
    ui/*)
        case $room in
        ui | session | base | input | model | cluster | cost | plan | solve | simulate) ;;
        *) breach "$file:$line: ui may not include $room (\"$target\")" ;;
        esac
        ;;
    esac
done < <(grep -rnE '^#include "' --include='*.c' --include='*.h' src ui)

while read -r file; do
    header=${file%.c}.h
    [ -e "$header" ] || continue
    first=$(grep -m 1 -E '^#include ' "$file")
    [ "$first" = "#include \"${header#src/}\"" ] ||
        breach "$file: the first include must be its own header \"${header#src/}\""
done < <(find src ui -name '*.c' | sort)
exit "$status"
