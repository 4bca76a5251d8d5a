"""Which kernels there are to test on, and where Debian keeps them."""

from dataclasses import dataclass
from typing import Literal

Hypervisor = Literal["qemu", "user-mode"]


class KernelError(Exception):
    """The test kernel cannot be had or did not run; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel out of a Debian package.

    suite: the Debian release to take it from; None for the one this machine runs.
    package: the package, or the meta package that depends on it.
    image, modules: paths (prefixes) of the kernel and of its module tree inside the package.
    early: modules that must be there before the root file system is.
    """

    name: str
    hypervisor: Hypervisor
    suite: str | None
    package: str
    meta: bool
    image: str
    modules: str
    early: tuple[str, ...]


_VIRTIO = ("virtio_pci", "9pnet_virtio", "9p", "overlay")

# Inner-header loads and the netdev egress hook need 5.16 (nftables), so `current` has them and `old` has not.
# cbq left the kernel in 6.3 and Debian's own builds long before (neither 5.10 nor 6.1 has sch_cbq.ko);
# the user-mode build of Debian 11 still has it, but its nf_tables knows bridges only.
KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("current", "qemu", None, "linux-image-amd64", True, "boot/vmlinuz-", "lib/modules/", _VIRTIO),
        Kernel("old", "qemu", "bullseye", "linux-image-amd64", True, "boot/vmlinuz-", "lib/modules/", _VIRTIO),
        Kernel(
            "cbq",
            "user-mode",
            "bullseye",
            "user-mode-linux",
            False,
            "usr/bin/linux.uml",
            "usr/lib/uml/modules/",
            ("overlay",),
        ),
    )
}
