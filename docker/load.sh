# Loads the database of a golden image: initdb, pgbench -i, a clean stop. Runs as the image's postgres user.
#
# Usage: sh load.sh BINDIR PGDATA SCALE CHECKSUMS    (CHECKSUMS: on or off)
set -eu
bindir=$1 PGDATA=$2 scale=$3 checksums=$4
export PGDATA PGHOST=/tmp PGUSER=postgres PGDATABASE=postgres
PATH=$bindir:$PATH

# Since PostgreSQL 18 checksums are on unless they are refused; before, they are off and cannot be refused.
if [ "$checksums" = on ]; then
    set -- --data-checksums
else
    case $(initdb --help) in
        *--no-data-checksums*) set -- --no-data-checksums ;;
        *) set -- ;;
    esac
fi
echo "step initdb"
initdb -D "$PGDATA" -U postgres --encoding=UTF8 --locale=C.UTF-8 --auth=trust --no-instructions "$@" >/dev/null

# Nothing here has to survive a crash. A small max_wal_size, or every copy of the image carries recycled segments.
serve() {
    pg_ctl start -s -w -t 600 -D "$PGDATA" -l /tmp/load.log -o "-c listen_addresses= -c unix_socket_directories=/tmp \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_wal_size=256MB -c min_wal_size=80MB \
        -c maintenance_work_mem=512MB $1" || { cat /tmp/load.log; exit 1; }
}

# With wal_level=minimal the load skips most of its WAL. A standby refuses to begin in WAL of that level: the server
# is started once more without it.
serve "-c wal_level=minimal -c max_wal_senders=0"
echo "step pgbench -i -s $scale"
pgbench -i -q -s "$scale" 2>&1
psql -qX -v ON_ERROR_STOP=1 -c "ALTER TABLE pgbench_accounts SET (autovacuum_enabled = off)"
echo "step stop"
pg_ctl stop -s -w -t 600 -m fast -D "$PGDATA"
serve ""
pg_ctl stop -s -w -t 600 -m fast -D "$PGDATA"
case $(LC_ALL=C pg_controldata -D "$PGDATA") in
    *"Database cluster state:"*" shut down"*) ;;
    *) echo "the server did not stop cleanly"; exit 1 ;;
esac
