#!/bin/sh
# Sets up a primary and a streaming standby as an administrator would, by hand: TLS, passwords, roles of their own.
#   servers.sh BINDIR DIR PRIMARY_PORT STANDBY_PORT
# DIR belongs to who runs this and holds certs/server.crt and certs/server.key. It waits until both servers accept
# connections, and the standby streams.
set -eu
bin=$1 dir=$2 primary_port=$3 standby_port=$4
umask 077
cd "$dir"
PATH=$bin:$PATH
cp certs/server.crt certs/server.key .
printf '%s\n' 'superuser-secret' > pwfile
initdb -D primary -U postgres --auth-local=trust --auth-host=scram-sha-256 --pwfile=pwfile -N > initdb.log
cat >> primary/postgresql.conf <<CONF
listen_addresses = '*'
port = $primary_port
unix_socket_directories = '$dir'
ssl = on
ssl_cert_file = '$dir/server.crt'
ssl_key_file = '$dir/server.key'
shared_buffers = '16MB'
fsync = off
CONF
cat > primary/pg_hba.conf <<HBA
local   all          all        trust
hostssl all          all        all   scram-sha-256
HBA
printf 'local replication all trust\n' >> primary/pg_hba.conf
pg_ctl -D primary -w -l primary.log -s start
psql -XqAt -v ON_ERROR_STOP=1 -h "$dir" -p "$primary_port" -U postgres postgres <<SQL
CREATE ROLE monitor LOGIN PASSWORD 'monitor-secret' IN ROLE pg_monitor;
CREATE ROLE plain LOGIN PASSWORD 'plain-secret';
SELECT pg_create_physical_replication_slot('standby1');
SQL
pg_basebackup -h "$dir" -p "$primary_port" -U postgres -D standby -R -S standby1 -c fast
cat >> standby/postgresql.conf <<CONF
port = $standby_port
cluster_name = 'standby1'
CONF
pg_ctl -D standby -w -l standby.log -s start
until psql -XqAt -h "$dir" -p "$primary_port" -U postgres -c 'SELECT state FROM pg_stat_replication' postgres \
    | grep -q streaming; do
    tries=$((${tries:-0} + 1))
    [ "$tries" -lt 300 ] || { echo "the standby does not stream" >&2; exit 1; }
    sleep 0.1
done
