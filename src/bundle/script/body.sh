
# ---- What it makes and what it needs ----

# Beginning of the name of everything it makes in Docker.
name=stall-repro-$$
# Where the disks' image files are. Its file system has to know direct I/O: most do, tmpfs before Linux 6.6 does not.
DIR=${DIR:-/var/tmp}

plan() {
    cat <<PLAN
This script makes, and removes again when it ends, fails or is stopped:
  in $DIR    a directory with two sparse image files, $need_mb MB in all while it runs
  loop devices    four, two for each node
  in Docker       two containers, two volumes, a network, all named $name-...
It needs root on the machine of the Docker engine, losetup, mkfs.ext4 and blockdev, and the image ${image:-that IMAGE=... names}
(which stays, if it has to be pulled). The run took $run_s s beyond loading its database; this gives up $deadline_s s after the fault.

PLAN
}

say() {
    echo "# $(date -u +%H:%M:%S) $*"
}

fail() {
    echo "repro.sh: $*" >&2
    exit 1
}

check() {
    for tool in docker losetup mkfs.ext4 blockdev awk mktemp; do
        command -v "$tool" >/dev/null || fail "$tool is missing (in Debian they are in util-linux, mount, e2fsprogs and the packages of a Docker engine)"
    done
    [ "$(id -u)" = 0 ] || fail "run it as root: loop devices need that"
    docker info >/dev/null 2>&1 || fail "no Docker engine answers"
    [ -n "$image" ] || fail "say which server to take, as in: IMAGE=... sh repro.sh (the beginning of this file says how to get it)"
    docker image inspect "$image" >/dev/null 2>&1 || docker pull "$image" ||
        fail "there is no image $image (the beginning of this file says how to get the server)"
    # Whatever the image starts by itself, its user and its place for data: none of it is used.
    facts=$(docker run --rm --network none --entrypoint sh "$image" -c 'postgres --version && id -u postgres && id -g postgres') ||
        fail "$image has no postgres in its PATH, or no user of that name"
    version=$(echo "$facts" | sed -n 1p) uid=$(echo "$facts" | sed -n 2p) gid=$(echo "$facts" | sed -n 3p)
    say "the server is $version; the run's was PostgreSQL $run_version"
    free_mb=$(($(df -Pk "$DIR" | awk 'NR == 2 { print $4 }') / 1024))
    [ "$free_mb" -ge "$need_mb" ] || fail "$DIR has $free_mb MB free, $need_mb MB are needed; DIR=... chooses another place"
}

# ---- Removing it again ----

dir='' helpers=''

clean_up() {
    code=$?
    trap '' INT TERM HUP
    trap - EXIT
    say "removing what was made"
    for helper in $helpers; do
        kill "$helper" 2>/dev/null || :
    done
    for container in "$name-loader" "$name-primary" "$name-standby"; do
        docker rm -f -v "$container" >/dev/null 2>&1 || :
    done
    docker volume rm -f "$name-primary" "$name-standby" >/dev/null || :
    docker network rm "$name" >/dev/null 2>&1 || :
    if [ -n "$dir" ]; then
        detach "$dir/primary.img" || echo "repro.sh: loop devices stay on $dir/primary.img" >&2
        detach "$dir/standby.img" || echo "repro.sh: loop devices stay on $dir/standby.img" >&2
        rm -rf "$dir"
    fi
    exit "$code"
}

# ---- Disks ----

# A disk is two loop devices, one on the other. The cap is put on the lower one; the queue of the upper one bounds what is in
# flight, as a real volume's does. With one device alone the throttle would let prefetches queue without bound, and the
# standby's own writes would starve behind them long before the fault.
attach() { # FILE READ_AHEAD_KB; sets lower and upper
    lower=$(losetup --find --show --direct-io=on "$1")
    upper=$(losetup --find --show --direct-io=on "$lower")
    # In sectors of 512 bytes.
    blockdev --setra $(($2 * 2)) "$upper"
}

detach() { # FILE
    [ -e "$1" ] || return 0
    for low in $(losetup --noheadings --output NAME --associated "$1"); do
        for high in $(losetup --noheadings --output NAME --associated "$low"); do
            losetup --detach "$high"
        done
        losetup --detach "$low"
    done
}

disk_volume() { # NODE UPPER
    docker volume create --driver local --opt type=ext4 --opt "device=$2" "$name-$1" >/dev/null
}

# ---- The database: loaded once, without a cap, stopped cleanly, and copied: a standby starts from such a copy ----

load() {
    say "initdb and pgbench -i -s $scale"
    dir=$(mktemp -d "$DIR/$name.XXXXXX")
    truncate -s "$image_bytes" "$dir/primary.img"
    # At once: what ext4 initialises in the background would eat the cap.
    mkfs.ext4 -q -F -i 262144 -J size=64 -E "lazy_itable_init=0,lazy_journal_init=0,root_owner=$uid:$gid" "$dir/primary.img"
    attach "$dir/primary.img" 128
    disk_volume primary "$upper"
    docker run --rm --init --name "$name-loader" --network none --user "$uid:$gid" --shm-size 1g --volume "$name-primary:/pg" \
        --entrypoint sh "$image" -c '
            set -eu
            # Since PostgreSQL 18 checksums are on unless they are refused; before, they are off and cannot be refused.
            case $2,$(initdb --help) in
                on,*) checksums=--data-checksums ;;
                off,*--no-data-checksums*) checksums=--no-data-checksums ;;
                *) checksums= ;;
            esac
            initdb -D /pg/data -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-instructions $checksums >/dev/null
            # Only the two nodes are on the network, and none of its ports is published.
            echo "host all all all trust" >>/pg/data/pg_hba.conf
            echo "host replication all all trust" >>/pg/data/pg_hba.conf
            # A small max_wal_size, or the copy would carry recycled segments. Nothing here has to survive a crash.
            pg_ctl start -s -w -D /pg/data -l /pg/load.log -o "-c listen_addresses= -c unix_socket_directories=/pg \
                -c fsync=off -c max_wal_size=256MB -c maintenance_work_mem=512MB"
            pgbench -i -q -s "$1" -h /pg -U postgres postgres 2>&1 | tail -n 1
            psql -qX -h /pg -U postgres -c "ALTER TABLE pgbench_accounts SET (autovacuum_enabled = off)" postgres
            pg_ctl stop -s -w -m fast -D /pg/data' \
        load "$scale" "$checksums"
    docker volume rm "$name-primary" >/dev/null
    detach "$dir/primary.img"
    say "copying it for the standby"
    cp --sparse=always "$dir/primary.img" "$dir/standby.img"
    sync
}

# ---- The nodes ----

# Ends with the settings of the node, which its function in the beginning of this file appends.
start_node() { # NODE CPUS MEMORY SHM READ_IOPS WRITE_IOPS READ_AHEAD_KB SETTINGS...
    node=$1 cpus=$2 memory=$3 shm=$4 read_iops=$5 write_iops=$6 read_ahead_kb=$7
    shift 7
    attach "$dir/$node.img" "$read_ahead_kb"
    disk_volume "$node" "$upper"
    if [ "$node" = standby ]; then
        docker run --rm --network none --user "$uid:$gid" --volume "$name-standby:/pg" --entrypoint touch "$image" \
            /pg/data/standby.signal
    fi
    set -- --entrypoint postgres "$image" -D /pg/data -c listen_addresses='*' -c unix_socket_directories=/pg \
        -c "cluster_name=$node" -c log_line_prefix='%m [%p] %b: ' -c lc_messages=C "$@"
    if [ -n "$read_iops" ]; then
        set -- --device-read-iops "$lower:$read_iops" "$@"
    fi
    if [ -n "$write_iops" ]; then
        set -- --device-write-iops "$lower:$write_iops" "$@"
    fi
    # --init: the first process of a container inherits orphans, and a postmaster takes the end of one for a crash of its own.
    docker run --detach --init --name "$name-$node" --network "$name" --network-alias "$node" --user "$uid:$gid" \
        --stop-signal SIGINT --cpus "$cpus" --memory "$memory" --memory-swap "$memory" --shm-size "$shm" \
        --volume "$name-$node:/pg" "$@" >/dev/null
}

primary() { # psql's options; further SQL on its input
    docker exec --interactive "$name-primary" psql -qAtX -v ON_ERROR_STOP=1 -h /pg -U postgres "$@" postgres
}

wait_for() { # SECONDS WHAT COMMAND...
    until_s=$(($(date +%s) + $1)) what=$2
    shift 2
    until "$@"; do
        if [ "$(date +%s)" -ge "$until_s" ]; then
            docker logs --tail 12 "$name-primary" >&2 || :
            docker logs --tail 12 "$name-standby" >&2 || :
            fail "waited in vain for $what; above are the last lines of the servers' logs"
        fi
        sleep 1
    done
}

answers() { # NODE
    docker exec "$name-$1" psql -qAtX -h /pg -U postgres -c 'SELECT 1' postgres >/dev/null 2>&1
}

streams() {
    [ "$(primary -c "SELECT state FROM pg_stat_replication WHERE application_name = '$standby'")" = streaming ]
}

start_nodes() {
    docker network create --internal "$name" >/dev/null
    say "starting the primary"
    settings_primary start_node primary "$primary_cpus" "$primary_memory" "$primary_shm" "$primary_read_iops" \
        "$primary_write_iops" "$primary_read_ahead_kb"
    wait_for 180 "the primary to accept connections" answers primary
    say "starting the standby"
    settings_standby start_node standby "$standby_cpus" "$standby_memory" "$standby_shm" "$standby_read_iops" \
        "$standby_write_iops" "$standby_read_ahead_kb" \
        -c "primary_conninfo=host=primary user=postgres application_name=$standby"
    standby_device=${upper#/dev/}
    wait_for 180 "the standby to accept connections" answers standby
    wait_for 180 "the standby to stream" streams
}

# ---- Watching ----

# One connection, opened before the load: a new one would wait for catalogue pages behind the cap. A row a second: time, reads
# completed by the standby's device, blocks prefetched, WAL received but not replayed, the walreceiver's process while it
# streams, what the startup process waits for.
watch_standby() {
    docker exec --interactive "$name-standby" psql -qAtX -h /pg -U postgres postgres >"$dir/standby" 2>"$dir/standby.err" <<SQL
SELECT extract(epoch FROM clock_timestamp())::numeric(20, 3),
       split_part(ltrim(pg_read_file('/sys/block/$standby_device/stat')), ' ', 1),
       (SELECT prefetch FROM pg_stat_recovery_prefetch),
       pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()),
       (SELECT pid FROM pg_stat_wal_receiver WHERE status = 'streaming'),
       (SELECT coalesce(wait_event, 'nothing') FROM pg_stat_activity WHERE backend_type = 'startup')
\\watch 1
SQL
}

run_pgbench() {
    set -- -n -c "$clients" -R "$rate_tps" -P 1 --progress-timestamp -T 100000000 -h /pg -U postgres
    if [ -s "$dir/load.sql" ]; then
        docker exec --interactive "$name-primary" sh -c 'cat >/pg/load.sql' <"$dir/load.sql"
        set -- "$@" -f /pg/load.sql
    fi
    docker exec "$name-primary" pgbench "$@" postgres >"$dir/pgbench" 2>&1
}

# The newest row of the standby's, of which the one before gives the rate of its reads.
print_rows() {
    echo "    time    tps  no commit for  standby: reads/s  prefetched  not replayed  startup process waits for"
    while :; do
        # What a source has not said yet is left out.
        tps=$(tail -n 1 "$dir/pgbench" 2>/dev/null | awk '/^progress: / { print $4 }') || :
        still=$(awk '/^progress: / { if ($4 > 0 || !since) since = $2; now = $2 } END { printf "%d", now - since }' "$dir/pgbench")
        tail -n 2 "$dir/standby" 2>/dev/null | awk -F '|' -v time="$(date -u +%H:%M:%S)" -v tps="$tps" -v still="$still" '
            { rate = NR == 2 && $1 > t ? sprintf("%.0f", ($2 - reads) / ($1 - t)) : ""; t = $1; reads = $2 }
            END { printf "%s %6s %12s s %17s %11s %10.1f MB  %s\n", time, tps, still, rate, $3, $4 / 1048576, $6 }'
        sleep 1
    done
}

# ---- The experiment ----

flushed() { # LSN
    [ "$(primary -c "SELECT flush_lsn >= '$1' FROM pg_stat_replication WHERE application_name = '$standby'")" = t ]
}

has_rows() { # FILE
    [ -s "$dir/$1" ]
}

walreceiver() {
    tail -n 1 "$dir/standby" | cut -d '|' -f 5
}

# The standby streams by another walreceiver than the one that was killed, and a commit came after the fault.
is_back() {
    now_receiver=$(walreceiver)
    [ -n "$now_receiver" ] && [ "$now_receiver" != "$killed" ] &&
        tail -n 1 "$dir/pgbench" | awk -v fault="$fault_at" '/^progress: / && $2 > fault + 2 && $4 > 0 { found = 1 } END { exit !found }'
}

prepare() {
    say "making the standby synchronous: $synchronous_standby_names"
    primary -c "ALTER SYSTEM SET synchronous_standby_names = '$synchronous_standby_names'"
    primary -c "SELECT pg_reload_conf()" >/dev/null
    : >"$dir/pgbench"
    watch_standby &
    helpers="$helpers $!"
    wait_for 60 "the first figures of the standby" has_rows standby
    primary -c CHECKPOINT
    load_script >"$dir/load.sql"
}

run_update() {
    batch=0
    while [ "$batch" -lt "$batches" ]; do
        first=$((accounts * batch / batches + 1)) last=$((accounts * (batch + 1) / batches)) next_at=$(($(date +%s) + batch_interval_s))
        { echo 'BEGIN;'; update_sql | sed "s/:first/$first/g; s/:last/$last/g"; echo ';COMMIT;'; } | primary
        batch=$((batch + 1))
        while [ "$batch" -lt "$batches" ] && [ "$(date +%s)" -lt "$next_at" ]; do
            sleep 1
        done
    done
}

# The walreceiver ends as if an administrator had told it to; its server goes on.
kill_walreceiver() {
    killed=$(walreceiver)
    [ -n "$killed" ] || fail "the standby does not stream"
    say "FAULT: SIGTERM to the walreceiver, process $killed of the standby"
    docker exec "$name-standby" sh -c 'kill -TERM "$1"' kill "$killed"
}

kill_walsender() {
    killed=$(walreceiver)
    say "FAULT: pg_terminate_backend of the walsender, on the primary"
    primary -c "SELECT pg_terminate_backend(pid) FROM pg_stat_replication WHERE application_name = '$standby'" >/dev/null
}

experiment() {
    say "pgbench alone, $rate_tps transactions a second"
    run_pgbench &
    helpers="$helpers $!"
    wait_for 60 "the first second of pgbench" has_rows pgbench
    print_rows &
    helpers="$helpers $!"
    sleep "$baseline_s"
    say "update"
    run_update
    lsn=$(primary -c 'SELECT pg_current_wal_insert_lsn()')
    say "committed; waiting until the standby has flushed it"
    wait_for "$flush_deadline_s" "the standby to flush the update's WAL" flushed "$lsn"
    sleep "$fault_after_s"
    fault_at=$(date +%s)
    "$fault"
    # As long as it may take, and long enough for a stall to be told as one.
    sleep 2
    wait_for "$deadline_s" "the standby to stream and commits to flow again" is_back
    while [ "$(date +%s)" -lt $((fault_at + stall_after_s + 3)) ]; do
        sleep 1
    done
    say "the standby streams and commits flow again"
    sleep "$tail_s"
}

# ---- What it showed ----

# The longest time after the fault without a commit, by pgbench's seconds; the reads of the standby's device in it.
result() {
    gap=$(awk -v fault="$fault_at" '
        !/^progress: / { next }
        $4 > 0 { since = $2 > fault ? $2 : fault; next }
        $2 > fault { if (!since || since < fault) since = fault; if ($2 - since > longest) { longest = $2 - since; from = since; to = $2 } }
        END { printf "%.1f %.3f %.3f", longest, from, to }' "$dir/pgbench")
    hang_s=${gap%% *}
    # shellcheck disable=SC2086 # three numbers
    set -- $gap
    reads=$(awk -F '|' -v from="$2" -v to="$3" '
        $1 >= from && $1 <= to { if (!n++) { t = $1; first = $2 } rate = $1 > t ? ($2 - first) / ($1 - t) : ""; reads = $2 - first }
        END { if (rate != "") printf "%d %.1f", reads, rate; else print "- -" }' "$dir/standby")
    prefetched=$(tail -n 1 "$dir/standby" | cut -d '|' -f 3)
    docker logs "$name-standby" 2>&1 | grep -e 'terminating walreceiver' -e 'replication terminated' -e 'could not receive data' |
        tail -n 1 | sed 's/^/# the log of the standby says: /' || :
    stalled=$(awk -v hang="$hang_s" -v least="$stall_after_s" 'BEGIN { print (hang >= least ? "yes" : "no") }')
    echo
    echo "longest time without a commit after the fault: $hang_s s (the run: $run_hang)"
    echo "reads of the standby's device in it: ${reads% *}; a second: ${reads#* } (cap: ${standby_read_iops:-none})"
    echo "blocks prefetched by the standby: $prefetched (the run: $run_prefetched)"
    echo "RESULT stalled=$stalled hang_s=$hang_s reads_a_second=${reads#* } cap=${standby_read_iops:-none} prefetched=$prefetched"
}

plan
if [ "${1:-}" = --plan ]; then
    exit 0
fi
check
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
load
start_nodes
prepare
experiment
result
