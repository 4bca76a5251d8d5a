#!/bin/sh
# Builds and installs a FreeBSD kernel with ALTQ: no disciplines are in GENERIC, and none can be loaded as a module (altq(4)).
# It takes about half an hour on two processors, once; then the machine must start anew.
set -eu

if pfctl -s queue 2>&1 | grep -q 'No ALTQ support'; then
    :
elif kldload -n pf && ! pfctl -s queue 2>&1 | grep -q 'No ALTQ support'; then
    echo "this kernel has ALTQ"
    exit 0
fi

if [ "$(sysctl -n kern.ident)" != PFQ ] && [ -f /usr/obj/pfq-built ]; then
    echo "the kernel with ALTQ is installed: vagrant reload freebsd"
    exit 0
fi

# 14.0-RELEASE-p6 comes from the sources of 14.0-RELEASE.
release=$(uname -r | sed 's/-p[0-9]*$//')
machine=$(uname -m)
if [ ! -f /usr/src/Makefile ]; then
    path=releases/$machine/$release/src.txz
    # A release that is no longer supported moves to the archive.
    fetch -q -o /tmp/src.txz "https://download.freebsd.org/$path" ||
        fetch -q -o /tmp/src.txz "http://ftp-archive.freebsd.org/pub/FreeBSD-Archive/old-$path"
    tar -x -f /tmp/src.txz -C /
    rm /tmp/src.txz
fi

cat >"/usr/src/sys/$machine/conf/PFQ" <<'CONFIG'
include GENERIC
ident PFQ
nomakeoptions DEBUG
device pf
options ALTQ
options ALTQ_CBQ
options ALTQ_CODEL
options ALTQ_HFSC
options ALTQ_NOPCC
options ALTQ_PRIQ
options ALTQ_RED
CONFIG

cd /usr/src
make -s -j "$(sysctl -n hw.ncpu)" buildkernel KERNCONF=PFQ
make -s installkernel KERNCONF=PFQ
touch /usr/obj/pfq-built
echo "the kernel with ALTQ is installed: vagrant reload freebsd"
