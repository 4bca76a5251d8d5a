"""What a listing of tc's does not say of itself: its device."""

import re

_DEVICE = re.compile(r"\bdev\s+(\S+)")
_HOOK = re.compile(r"\b(ingress|egress)\b")


def listed(command: str) -> tuple[str, str]:
    """The device and the hook (ingress, egress or none) in the command that printed a listing; '' where there is none."""
    device, hook = _DEVICE.search(command), _HOOK.search(command)
    return device.group(1) if device else "", hook.group(1) if hook else ""
