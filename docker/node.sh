# First process of a node: becomes the server. Runs as the image's postgres user.
#
# Usage: sh node.sh ROLE POSTGRES PGDATA CONFIG_FILE    (ROLE: primary or standby)
set -eu
if [ "$1" = standby ]; then
    : > "$3/standby.signal"
fi
exec "$2" -D "$3" -c "config_file=$4"
