"""What a listing of tc's does not say of itself: its device."""

import re

_DEVICE = re.compile(r"\bdev\s+(\S+)")
_HOOK = re.compile(r"\b(ingress|egress)\b|\bparent\s+(\S+)")


def listed(command: str) -> tuple[str, str]:
    """The device, and the hook (ingress, egress) or parent, in the command that printed a listing; '' where there is none."""
    device, hook = _DEVICE.search(command), _HOOK.search(command)
    return device.group(1) if device else "", (hook.group(1) or hook.group(2)) if hook else ""
