#!/bin/sh
# Prints those of the settings in $2... that the server program $1 does not know, one a line.
set -eu

postgres=$1
shift

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/postgresql.conf"

for name; do
    # Some are only known once a data directory is read, and the attempt fails for that: then the server knows the name.
    said=$(LC_ALL=C "$postgres" -D "$dir" -C "$name" 2>&1) || :
    case $said in
        *'unrecognized configuration parameter'*) echo "$name" ;;
    esac
done
