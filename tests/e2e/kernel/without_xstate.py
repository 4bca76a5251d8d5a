"""Start a user-mode kernel that must not use the host's extended register state: python without_xstate.py KERNEL ARGUMENTS...

A user-mode kernel of 5.10 or 6.1 hands its processes' registers to ptrace(PTRACE_SETREGSET, NT_X86_XSTATE) in a buffer of fixed
size, and the host refuses every size but its own (arch/x86/kernel/fpu/regset.c), so with AMX the first process dies with EFAULT.
Where PTRACE_GETREGSET fails at start the kernel falls back to the plain FXSAVE registers; a seccomp filter makes it fail.
What the guest runs must then leave the AVX registers alone: see GUEST_ENVIRONMENT.
"""

import ctypes
import errno
import os
import struct
import sys

_PTRACE = 101  # system call, x86-64
_GETREGSET, _SETREGSET = 0x4204, 0x4205
_SET_SECCOMP, _FILTER, _NO_NEW_PRIVILEGES = 22, 2, 38

# Keeps glibc's string functions and OpenSSL off the AVX registers.
GUEST_ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-XSAVE,-XSAVEC",
    "OPENSSL_ia32cap": "~0x1000000000000000:~0x10020",
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _refuse_register_sets() -> None:
    """Make ptrace's register set requests fail with EINVAL, in this process and all it starts. Raises OSError."""
    load, jump_if_equal, answer = 0x20, 0x15, 0x06
    number, first_argument = 0, 16  # offsets in struct seccomp_data
    code = (
        (load, 0, 0, number),
        (jump_if_equal, 0, 4, _PTRACE),
        (load, 0, 0, first_argument),
        (jump_if_equal, 1, 0, _GETREGSET),
        (jump_if_equal, 0, 1, _SETREGSET),
        (answer, 0, 0, 0x00050000 | errno.EINVAL),
        (answer, 0, 0, 0x7FFF0000),
    )
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    program = _Program(len(code), ctypes.addressof(instructions))
    library = ctypes.CDLL(None, use_errno=True)
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0), (_SET_SECCOMP, _FILTER, ctypes.byref(program))):
        if library.prctl(*arguments, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    _refuse_register_sets()
    os.execv(sys.argv[1], sys.argv[1:])
