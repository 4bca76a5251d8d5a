#!/bin/sh
# First process of the test machine. Mounts the host's root read-only under a tmpfs overlay, runs one command, powers off.
# It keeps its own root (this initramfs) and has the new root as working directory: the kernel's module helper
# finds its way there through /proc/1/cwd, and the command does not count as chrooted (user namespaces work).
# shellcheck disable=SC1091,SC2013,SC2154 # words on purpose; the variables come from the command line and from /control/settings

fail() {
    echo "pfq-init: $*"
    poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
    insmod "/modules/$module" || fail "cannot load $module"
done </modules/order

# transport=... control=... from the kernel's command line
for word in $(cat /proc/cmdline); do
    case $word in pfq.*) export "${word#pfq.}" ;; esac
done

host_directory() { # NAME PATH MODE TARGET
    if [ "$transport" = 9p ]; then
        cache=none
        [ "$3" = ro ] && cache=loose
        mount -t 9p -o "$3,trans=virtio,version=9p2000.L,msize=512000,cache=$cache" "$1" "$4"
    else
        mount -t hostfs -o "$3,$2" "$1" "$4"
    fi
}

mirror() { # DIRECTORY ("" or one that begins with a slash): its entries, links as links, the rest bound
    for entry in "/lower$1"/* "/lower$1"/.[!.]*; do
        new=/root${entry#/lower}
        case ${entry#/lower} in /proc | /sys | /dev | /run | /usr/lib/modules) continue ;; esac
        if [ -L "$entry" ]; then
            cp -P "$entry" "$new"
        elif [ -d "$entry" ]; then
            mkdir "$new" && mount -o bind "$entry" "$new"
        elif [ -f "$entry" ]; then
            : >"$new" && mount -o bind "$entry" "$new"
        fi
    done
}

host_directory control "$control" rw /control || fail "no control directory"
. /control/settings # share, modules, name

host_directory root / ro /lower || fail "no root"
mount -t tmpfs -o size=70% upper /upper
if [ "$transport" = 9p ]; then
    mkdir /upper/data /upper/work
    mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work root /root || fail "no overlay"
else
    # An overlay cannot open files of hostfs (5.10: hostfs looks for the overlay's path), so the host's directories
    # are bound into a tmpfs one by one; those named here can be written to, what is in them cannot.
    mount -o bind /upper /root
    for directory in "" /usr /usr/lib /tmp /root; do
        [ -z "$directory" ] || umount "/root$directory"
        mirror "$directory"
    done
fi
cd /root || fail "no new root"
mkdir -p proc sys dev run lib/modules
mount -t proc proc proc
mount -t sysfs sys sys
mount -t devtmpfs dev dev
mkdir -p dev/pts dev/shm dev/net
mknod dev/net/tun c 10 200 # opening these loads their modules
mknod dev/ppp c 108 0
mount -t devpts devpts dev/pts
mount -t tmpfs shm dev/shm
mount -t tmpfs run run
mkdir run/control
mount -t cgroup2 cgroup sys/fs/cgroup
mount -t bpf bpf sys/fs/bpf
mount -o bind "/lower$modules" lib/modules || fail "no modules"
mount -o bind /control run/control
if [ -n "$share" ]; then
    mkdir -p "/root$share"
    host_directory share "$share" rw "/root$share" || fail "no share"
fi
mount --move . /
hostname "pfq-$name"
ip link set lo up
if [ "$transport" = hostfs ]; then
    # iptables starts modprobe with an empty environment, which this kind of machine cannot run: see without_xstate.py.
    chroot . /sbin/modprobe -a ipv6 ip_tables ip6_tables
fi
echo "pfq-init: up $(cat /proc/uptime)"
chroot . /bin/sh /run/control/command </dev/null >/control/stdout 2>/control/stderr
echo $? >/control/status
[ -n "$share" ] && umount ".$share"
sync
poweroff -f
