#!/bin/sh
# The last step of every build: proves that the image has what the lab needs, and prints what the lab has to know of it, as
# `stall-lab: NAME=VALUE`. The build fails, naming what is missing, if it is not so. Run once as root and once as postgres.
set -eu

PATH=$PATH:/usr/sbin:/sbin
programs='postgres initdb pg_ctl psql pgbench pg_waldump pg_controldata'

fail() {
    echo "stall-lab: missing: $*" >&2
    exit 1
}

has_all() {
    for program in $programs; do
        [ -x "$1/$program" ] || return 1
    done
}

# BINDIR is given where it is known; an image of somebody else's is searched.
find_bindir() {
    for dir in ${BINDIR:-} $(echo "$PATH" | tr : ' ') /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
        /usr/local/pgsql/bin /opt/bitnami/postgresql/bin /opt/postgresql/bin; do
        if has_all "$dir"; then
            echo "$dir"
            return
        fi
    done
}

bindir=$(find_bindir)
[ -n "$bindir" ] || fail "one directory with $programs"

prove_tools() {
    missing=
    for tool in sh cp dd stat timeout sync mkdir chown chmod rm cat head sleep losetup blockdev mkfs.ext4; do
        command -v "$tool" >/dev/null || missing="$missing $tool"
    done
    [ -z "$missing" ] || fail "$missing"
    id -u postgres >/dev/null 2>&1 || fail 'a user named postgres'
    cp --help 2>&1 | grep -q -e --sparse || fail 'a cp that knows --sparse'
    losetup --help 2>&1 | grep -q -e --direct-io || fail 'a losetup that knows --direct-io'

    echo "stall-lab: bindir=$bindir"
    echo "stall-lab: version=$("$bindir/postgres" --version)"
    echo "stall-lab: uid=$(id -u postgres)"
    echo "stall-lab: gid=$(id -g postgres)"
}

# A cluster that can be made, started and loaded with the walreceiver proves libraries, share files, time zones and locale.
prove_server() {
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    "$bindir/initdb" -D "$data/pg" -N -A trust -E UTF8 --locale=C.UTF-8 >"$data/log" 2>&1 || {
        cat "$data/log"
        fail 'an initdb that works'
    }
    echo "LOAD 'libpqwalreceiver'; SET timezone = 'UTC';" |
        "$bindir/postgres" --single -D "$data/pg" postgres >"$data/log" 2>&1 || {
        cat "$data/log"
        fail 'a postgres that works'
    }
    if grep -E 'ERROR|FATAL' "$data/log"; then
        fail 'a postgres that loads the walreceiver'
    fi
    "$bindir/pgbench" --version >/dev/null || fail 'a pgbench that works'
    "$bindir/psql" --version >/dev/null || fail 'a psql that works'
    "$bindir/pg_waldump" --version >/dev/null || fail 'a pg_waldump that works'
}

if [ "$(id -u)" -eq 0 ]; then
    prove_tools
else
    prove_server
fi
