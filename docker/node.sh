# First process of a node: starts the server and waits for it. Runs as the image's postgres user.
#
# The postmaster is not the first process itself: that one inherits the orphans of every command run in the
# container, and a postmaster that sees an unknown child die of a signal restarts all of its server.
#
# Usage: sh node.sh ROLE POSTGRES PGDATA CONFIG_FILE    (ROLE: primary or standby)
set -eu
if [ "$1" = standby ]; then
    : > "$3/standby.signal"
fi
"$2" -D "$3" -c "config_file=$4" &
postmaster=$!
# Fast shutdown, as for SIGINT; SIGTERM would wait for every session to leave.
trap 'kill -INT "$postmaster"' TERM INT
code=0
# A trapped signal ends `wait` before the server has ended.
while kill -0 "$postmaster" 2>/dev/null; do
    wait "$postmaster" && code=0 || code=$?
done
exit "$code"
