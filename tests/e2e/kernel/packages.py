"""Debian packages fetched with apt and read without installing anything."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.e2e.kernel.kernels import KernelError

# The Debian package that brings a command, for the message when it is missing.
PROVIDER = {
    "apt-get": "apt",
    "apt-cache": "apt",
    "dpkg-deb": "dpkg",
    "modprobe": "kmod",
    "depmod": "kmod",
    "qemu-system-x86_64": "qemu-system-x86",
    "ip": "iproute2",
    "tc": "iproute2",
    "nft": "nftables",
}


_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def find_command(name: str) -> str:
    """Full path of a command (administrators' directories included). Raises KernelError naming the package to install."""
    directories = os.environ.get("PATH", os.defpath) + ":/usr/local/sbin:/usr/sbin:/sbin"
    found = shutil.which(name, path=directories)
    if found is None:
        raise KernelError(f"{name} is missing: apt-get install {PROVIDER[name]}")
    return found


def output_of(command: list[str], directory: Path | None = None) -> str:
    """Standard output of a command. Raises KernelError with what it said if it fails."""
    command = [find_command(command[0]), *command[1:]]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise KernelError(f"{' '.join(command)}: exit status {done.returncode}: " + "; ".join(said[-3:]))
    return done.stdout


def _apt_options(suite: str | None, state: Path) -> list[str]:
    """Options that make apt look at `suite` on the mirror this machine uses already; lists and sources live in `state`."""
    # What is installed here shall not matter: an installed newer kernel would hide the one of an older suite.
    options = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3", "-o", "Dir::State::status=/dev/null"]
    if suite is None:
        return options
    wanted = ["Created-By: Packages", "Label: Debian", "Component: main"]
    mirrors = output_of(["apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted]).split()
    if not mirrors:
        raise KernelError("apt knows no Debian mirror here: run apt-get update first")
    for directory in ("lists/partial", "cache/archives/partial"):
        (state / directory).mkdir(parents=True, exist_ok=True)
    source = state / "suite.sources"
    source.write_text(f"Types: deb\nURIs: {mirrors[0]}\nSuites: {suite}\nComponents: main\nSigned-By: {_KEYRING}\n")
    settings = {
        "Dir::Etc::sourcelist": source,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state / "cache",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    }
    for name, value in settings.items():
        options += ["-o", f"{name}={value}"]
    output_of(["apt-get", "update", "-q", *options])
    return options


def download(package: str, *, meta: bool, suite: str | None, directory: Path) -> Path:
    """Fetch `package` (or, for a meta package, the first package it depends on) into `directory`; returns the file."""
    directory.mkdir(parents=True, exist_ok=True)
    options = _apt_options(suite, directory)
    if meta:
        depends = output_of(["apt-cache", "depends", *options, package]).split("\n")
        names = [line.split(":", 1)[1].strip() for line in depends if line.strip().startswith("Depends:")]
        if not names:
            raise KernelError(f"apt-cache shows no dependency of {package}: run apt-get update first")
        package = names[0]
    for stale in directory.glob(f"{package}_*.deb"):
        stale.unlink()
    output_of(["apt-get", "download", "-q", *options, package], directory)
    found = list(directory.glob(f"{package}_*.deb"))
    if len(found) != 1:
        raise KernelError(f"apt-get download {package}: expected one file, got {len(found)}")
    return found[0]


def members(package: Path) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    """The files of a package in the archive's order: path without the leading "./", the entry, the open archive."""
    with subprocess.Popen([find_command("dpkg-deb"), "--fsys-tarfile", str(package)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as unpacker:
        assert unpacker.stdout is not None
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as archive:
            for entry in archive:
                yield entry.name.removeprefix("./"), entry, archive
    if unpacker.returncode:
        raise KernelError(f"{package.name} cannot be unpacked (dpkg-deb: exit status {unpacker.returncode})")


def extract(package: Path, wanted: Iterable[tuple[str, Path]]) -> None:
    """Write each regular file whose path begins with a prefix of `wanted` to the place beside it (plus the rest of the path)."""
    places = tuple(wanted)
    for path, entry, archive in members(package):
        for prefix, place in places:
            if entry.isfile() and path.startswith(prefix):
                source = archive.extractfile(entry)
                assert source is not None
                target = Path(str(place) + path[len(prefix) :])
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    shutil.copyfileobj(source, file)
                break
