"""A bootable image out of a kernel package: kernel, initramfs, module tree, all in a cache directory."""

import fcntl
import gzip
import hashlib
import lzma
import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.kernel.kernels import Kernel, KernelError
from tests.e2e.kernel.packages import download, extract, find_command, members, output_of
from tests.e2e.kernel.without_xstate import GUEST_ENVIRONMENT

CACHE_VARIABLE = "PFQ_TEST_KERNEL_CACHE"
_HERE = Path(__file__).parent
_APPLETS = ("sh", "cat", "chroot", "cp", "hostname", "insmod", "ip", "mkdir", "mknod", "mount", "poweroff", "sync", "umount")
_DIRECTORIES = ("bin", "sbin", "lib", "proc", "sys", "dev", "modules", "control", "lower", "upper", "root")

# The module helper of the kernel runs in the initramfs; the modules are where process 1 works.
_MODULE_HELPER = 'exec chroot /proc/1/cwd /sbin/modprobe "$@"\n'

# The kernel starts the helper with an environment of its own, so in a user-mode kernel the helper's shell must be one that
# leaves the AVX registers alone by nature (klibc has no vector code).
_PLAIN_SHELL_PACKAGES = (("klibc-utils", "usr/lib/klibc/bin/sh", "bin/plain-sh"), ("libklibc", "lib/klibc-", "lib/klibc-"))

# Of a full module tree a network laboratory needs a sixth.
_KEPT_MODULES = (
    "modules.",
    "kernel/arch/",
    "kernel/crypto/",
    "kernel/drivers/atm/",
    "kernel/drivers/char/hw_random/",
    "kernel/drivers/net/",
    "kernel/drivers/virtio/",
    "kernel/fs/9p/",
    "kernel/fs/fscache/",
    "kernel/fs/netfs/",
    "kernel/fs/overlayfs/",
    "kernel/lib/",
    "kernel/net/",
)
_DROPPED_MODULES = ("kernel/drivers/net/ethernet/", "kernel/drivers/net/wireless/", "kernel/drivers/net/usb/")


@dataclass(frozen=True, slots=True)
class Image:
    """What a hypervisor needs: the kernel, the initramfs, and the directory that holds the release's module directory."""

    kernel: Path
    initramfs: Path
    modules: Path


def cache_directory() -> Path:
    """Where unpacked kernels are kept: $PFQ_TEST_KERNEL_CACHE or ~/.cache/pfq-test-kernel."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).resolve() if named else Path.home() / ".cache" / "pfq-test-kernel"


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _recipe() -> str:
    """Fingerprint of everything that decides what an image looks like; a cached image of another recipe is rebuilt."""
    digest = hashlib.sha256()
    for name in ("image.py", "init.sh", "kernels.py", "packages.py", "without_xstate.py"):
        digest.update((_HERE / name).read_bytes())
    return digest.hexdigest()


def uncompressed(image: bytes) -> bytes:
    """The ELF kernel inside an x86 bzImage; the image itself where it is not xz-compressed.

    qemu starts an ELF kernel by its PVH note, which spares the emulated machine the decompression (2 s).
    Offsets: Documentation/x86/boot.rst (setup_sects at 0x1f1, payload_offset at 0x248, payload_length at 0x24c).
    """
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = image[start : start + length]
    if not payload.startswith(b"\xfd7zXZ"):
        return image
    kernel = lzma.LZMADecompressor().decompress(payload)
    return kernel if kernel.startswith(b"\x7fELF") else image


class _Archive:
    """A cpio archive in the "newc" format (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._entries = 0

    def add(self, path: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        self._entries += 1
        name = path.encode() + b"\0"
        numbers = (self._entries, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name), 0)
        header = b"070701" + b"".join(b"%08X" % number for number in numbers) + name
        self._parts += [header, b"\0" * (-len(header) % 4), content, b"\0" * (-len(content) % 4)]

    def finish(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return b"".join(self._parts)


def _early_modules(kernel: Kernel, modules: Path, release: str) -> list[Path]:
    """The files of the modules to load first, each after those it needs. Raises KernelError if the kernel lacks one."""
    files: dict[Path, None] = {}
    for name in kernel.early:
        shown = output_of(["modprobe", "-d", str(modules.parent.parent), "-S", release, "--show-depends", name])
        for line in shown.splitlines():
            action, _, path = line.strip().partition(" ")
            if action == "insmod":
                files[Path(path.strip())] = None
    return list(files)


def _initramfs(kernel: Kernel, busybox: bytes, modules: list[Path], packages: Path) -> bytes:
    archive = _Archive()
    for directory in _DIRECTORIES:
        archive.add(directory, 0o040755)
    archive.add("dev/console", 0o020600, device=(5, 1))
    archive.add("bin/busybox", 0o100755, busybox)
    for applet in _APPLETS:
        archive.add(f"bin/{applet}", 0o120777, b"busybox")
    helper = f"#!/bin/sh\n{_MODULE_HELPER}"
    if kernel.hypervisor == "user-mode":
        variables = "".join(f"export {name}={value}\n" for name, value in GUEST_ENVIRONMENT.items())
        helper = f"#!/bin/plain-sh\n{variables}{_MODULE_HELPER}"
        for package, path, place in _PLAIN_SHELL_PACKAGES:
            for name, content in _files(download(package, meta=False, suite=None, directory=packages), path):
                archive.add(place + name.removeprefix(path), 0o100755, content)
    archive.add("sbin/modprobe", 0o100755, helper.encode())
    archive.add("init", 0o100755, (_HERE / "init.sh").read_bytes())
    for file in modules:
        archive.add(f"modules/{file.name}", 0o100644, file.read_bytes())
    archive.add("modules/order", 0o100644, "".join(f"{file.name}\n" for file in modules).encode())
    return gzip.compress(archive.finish(), 1)


def _files(package: Path, prefix: str) -> list[tuple[str, bytes]]:
    """Path and content of the files of `package` whose path begins with `prefix`; at least one."""
    found = []
    for path, entry, archive in members(package):
        if path.startswith(prefix) and entry.isfile():
            source = archive.extractfile(entry)
            assert source is not None
            found.append((path, source.read()))
    if not found:
        raise KernelError(f"{package.name} holds no {prefix}")
    return found


def _build(kernel: Kernel, directory: Path) -> None:
    """Fetch and unpack `kernel` into `directory`: files kernel and initramfs, folder lib/modules."""
    packages = directory / "packages"
    package = download(kernel.package, meta=kernel.meta, suite=kernel.suite, directory=packages)
    modules = directory / "lib" / "modules"
    extract(package, ((kernel.image, directory / "image-"), (kernel.modules, directory / "all" / "modules-")))
    trees = list((directory / "all").glob("modules-*"))
    images = list(directory.glob("image-*"))
    if len(trees) != 1 or len(images) != 1:
        raise KernelError(f"{package.name} does not hold one kernel and one module tree")
    release = trees[0].name.removeprefix("modules-")
    for file in trees[0].rglob("*"):
        path = file.relative_to(trees[0]).as_posix()
        if file.is_file() and path.startswith(_KEPT_MODULES) and not path.startswith(_DROPPED_MODULES):
            target = modules / release / path
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)
    shutil.rmtree(directory / "all")
    output_of(["depmod", "-b", str(directory), release])
    image = images[0].read_bytes()
    images[0].unlink()
    (directory / "kernel").write_bytes(uncompressed(image) if kernel.hypervisor == "qemu" else image)
    (directory / "kernel").chmod(0o755)
    early = _early_modules(kernel, modules, release)
    busybox = _files(download("busybox-static", meta=False, suite=None, directory=packages), "bin/busybox")
    (directory / "initramfs").write_bytes(_initramfs(kernel, busybox[0][1], early, packages))
    shutil.rmtree(packages)


def prepare(kernel: Kernel) -> Image:
    """The image of `kernel`, from the cache or built anew. Installs nothing. Raises KernelError if it cannot be had."""
    cache = cache_directory()
    directory = cache / kernel.name
    with _locked(cache):
        stamp = directory / "recipe"
        if not stamp.is_file() or stamp.read_text() != _recipe():
            for command in ("apt-get", "apt-cache", "dpkg-deb", "depmod", "modprobe"):
                find_command(command)
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            _build(kernel, directory)
            stamp.write_text(_recipe())
    return Image(directory / "kernel", directory / "initramfs", directory / "lib" / "modules")
