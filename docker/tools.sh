#!/bin/sh
# Adds to an image of somebody else's what the lab needs beside PostgreSQL, if it is not there yet.
set -eu

PATH=$PATH:/usr/sbin:/sbin
missing=
for tool in losetup blockdev mkfs.ext4 timeout stat dd cp; do
    command -v "$tool" >/dev/null || missing="$missing $tool"
done
# BusyBox has programs of these names that lack options the lab uses.
if losetup --version 2>&1 | grep -q -i busybox || cp --version 2>&1 | grep -q -i busybox; then
    missing="$missing (BusyBox)"
fi
[ -n "$missing" ] || exit 0

echo "stall-lab: adding$missing"
if command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get -o Acquire::Check-Valid-Until=false update
    apt-get install -y --no-install-recommends mount util-linux e2fsprogs coreutils
elif command -v apk >/dev/null; then
    apk add --no-cache util-linux util-linux-misc losetup blkid e2fsprogs coreutils
elif command -v microdnf >/dev/null; then
    microdnf install -y util-linux e2fsprogs coreutils
elif command -v dnf >/dev/null; then
    dnf install -y util-linux e2fsprogs coreutils
else
    echo "stall-lab: missing:$missing, and the image has no package manager that the lab knows (apt, apk, dnf)" >&2
    exit 1
fi
