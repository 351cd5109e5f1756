# The disks of a run, made and unmade by a helper container that sees the host's /dev and the lab's volumes.
#
# Usage: sh disk.sh VERB ARGUMENTS
#   space DIR                        prints: space AVAILABLE_KB
#   format FILE BYTES UID GID        a sparse file with an ext4 whose root belongs to UID:GID
#   copy FROM TO                     keeps holes as holes
#   attach NODE FILE READ_AHEAD_KB   prints: disk NODE LOWER UPPER READ_AHEAD_KB DIRECT_IO
#   detach FILE ...                  the devices on these files, the upper before the lower
#   mv FROM TO
#   rm FILE
#   ls DIR                           prints a line for each image file: file NAME BYTES_ON_DISK MODIFIED_UNIX
set -eu

# A node's disk is two loop devices, one on the other. The cap is put on the lower one; the queue of the upper one
# bounds what is in flight to 128 requests, as a real volume's does. Without it the throttle would let readahead
# and prefetches queue without bound, and writes would starve behind them.
attach() {
    lower=$(losetup --find --show --direct-io=on "$2")
    upper=$(losetup --find --show --direct-io=on "$lower")
    # In sectors of 512 bytes.
    blockdev --setra $(($3 * 2)) "$upper"
    direct=$(losetup --list --noheadings --output DIO "$lower")
    echo "disk $1 $lower $upper $(($(blockdev --getra "$upper") / 2)) ${direct##* }"
}

# The devices whose backing file is $1, as losetup knows them by device and inode.
devices_on() {
    losetup --associated "$1" --noheadings --output NAME
}

detach() {
    for file in "$@"; do
        [ -e "$file" ] || continue
        # In assignments, so that a losetup that fails is not taken for one that finds nothing.
        lowers=$(devices_on "$file")
        for lower in $lowers; do
            uppers=$(devices_on "$lower")
            for upper in $uppers; do
                losetup --detach "$upper"
            done
            losetup --detach "$lower"
        done
    done
}

verb=$1
shift
case $verb in
    space)
        df -Pk "$1" | { read -r _; read -r _ _ _ available _; echo "space $available"; }
        ;;
    format)
        truncate -s "$2" "$1"
        # Initialised at once: what ext4 does lazily in the background would eat the cap. Few inodes: the database
        # has a few thousand files, and inode tables are written out.
        mkfs.ext4 -q -F -i 262144 -J size=64 -E "lazy_itable_init=0,lazy_journal_init=0,root_owner=$3:$4" "$1"
        ;;
    copy)
        cp --sparse=always --reflink=auto "$1" "$2"
        # Or it would be written back while the experiment runs.
        sync "$2"
        ;;
    attach)
        attach "$@"
        ;;
    detach)
        detach "$@"
        ;;
    mv)
        mv "$1" "$2"
        ;;
    rm)
        rm -f "$1"
        ;;
    ls)
        for file in "$1"/*.img; do
            [ -e "$file" ] || continue
            stat -c '%b %B %Y' "$file" | { read -r blocks size time; echo "file ${file##*/} $((blocks * size)) $time"; }
        done
        ;;
    *)
        echo "disk.sh: no verb $verb" >&2
        exit 2
        ;;
esac
