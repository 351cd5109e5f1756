# Answers each line on its input with the node's disk and CPU counters, on one line:
#   disk FIELDS_OF_STAT cpu USAGE UNIT
# What cannot be read is "-". Only the shell's own commands: no process is started for a sample.
#
# Usage: sh probe.sh DEVICE [SYS]    (DEVICE as in loop7; SYS is where sysfs is mounted, /sys)
sys=${2:-/sys}
v1=$sys/fs/cgroup/cpuacct/cpuacct.usage
v2=$sys/fs/cgroup/cpu.stat
while read -r _; do
    disk=- cpu=-
    { read -r disk < "$sys/block/$1/stat"; } 2>/dev/null
    if [ -r "$v1" ]; then
        read -r usage < "$v1" && cpu="$usage ns"
    elif [ -r "$v2" ]; then
        while read -r key value; do
            if [ "$key" = usage_usec ]; then
                cpu="$value us"
            fi
        done < "$v2"
    fi
    echo "disk $disk cpu $cpu"
done
