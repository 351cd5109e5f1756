# Measures how many reads a second the node's disk really gives: readers with direct I/O keep it busy, and the
# device's own counter of completed reads tells. Prints: reads READS centiseconds CENTISECONDS
#
# Usage: sh cap-probe.sh DEVICE DIR SECONDS READERS    (DEVICE as in loop7; the largest file below DIR is read)
set -eu
device=$1 dir=$2 seconds=$3 readers=$4

# shellcheck disable=SC2012 # names of PostgreSQL's files are digits, dots and underscores
file=$(ls -S "$dir"/*/* | head -n 1)
blocks=$(($(stat -c %s "$file") / 8192))
each=$((blocks / readers))
[ "$each" -gt 0 ] || { echo "$file is too small to be read by $readers readers" >&2; exit 1; }

read_for() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    timeout "$1" sh -c 'while dd if="$1" of=/dev/null bs=8k iflag=direct skip="$2" count="$3" 2>/dev/null; do :; done' \
        reader "$file" "$2" "$each" || true
}

# Seconds since boot, in hundredths.
now() {
    read -r uptime _ < /proc/uptime
    echo "${uptime%.*}${uptime#*.}"
}

completed() {
    read -r reads _ < "/sys/block/$device/stat"
    echo "$reads"
}

reader=0
while [ "$reader" -lt "$readers" ]; do
    read_for $((seconds + 1)) $((reader * each)) &
    reader=$((reader + 1))
done
# The throttle lets a burst through when it starts.
sleep 0.5
from=$(now) first=$(completed)
sleep "$seconds"
last=$(completed) to=$(now)
echo "reads $((last - first)) centiseconds $((to - from))"
wait
