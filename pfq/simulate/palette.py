"""Colours of the pictures by name: in the light, and where the reader's system asks for the dark. Pairs keep a contrast of 4.5 and more with their ground."""

COLOURS = 8
LIGHT = {
    "ground": "#ffffff", "ink": "#1b1f24", "quiet": "#5a6472", "rule": "#d8dde3", "shade": "#f3f5f8",
    "s0": "#c2410c", "s1": "#1d5fd1", "s2": "#15803d", "s3": "#7e22ce", "s4": "#a16207", "s5": "#0e7490", "s6": "#be185d", "s7": "#4d5562",
}
DARK = {
    "ground": "#14171b", "ink": "#e6e9ed", "quiet": "#a3adba", "rule": "#333a44", "shade": "#1c2127",
    "s0": "#ff9c66", "s1": "#7db2ff", "s2": "#6fd693", "s3": "#cfa2ff", "s4": "#e8c25a", "s5": "#63d3e6", "s6": "#ff8fc0", "s7": "#b6c0cc",
}


def _variables(colours: dict[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{value}" for name, value in colours.items()) + "}"


STYLE = (
    f"\n{_variables(LIGHT)}\n@media(prefers-color-scheme:dark){{{_variables(DARK)}}}"
    """
svg text{fill:var(--ink);font:13px system-ui,sans-serif}
svg .quiet{fill:var(--quiet);font-size:12px}
svg .title{font-weight:600;font-size:14px}
svg .rule{stroke:var(--rule);stroke-width:1}
svg .shade{fill:var(--shade)}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}
"""
    + "".join(f"svg .s{n}{{stroke:var(--s{n})}}svg .k{n}{{fill:var(--s{n})}}" for n in range(COLOURS))
)
