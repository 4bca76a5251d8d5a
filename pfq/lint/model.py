"""A model (site.toml) as lint rules see it: the site as written and its plan, with the place of each value in the text."""

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.build import plan_site
from pfq.plan.model import Gateway, Plan, Tree, Uplink
from pfq.site.load import read_text
from pfq.site.model import Attachment, Link, Site
from pfq.site.positions import Path

from .finding import ERROR, Finding, Text
from .registry import OF_THE_RUNNER, RULES, rule
from .ruleset import Place
from .run import Result, in_order, silence


class Model:
    """A model that was read. `refused` is what the compiler says against it; then site and plan are None where it got no further."""

    def __init__(self, file: str, text: str) -> None:
        self.text = Text(file, text)
        self.site: Site | None = None
        self.plan: Plan | None = None
        self.refused: list[Diagnostic] = []
        try:
            # Lines are counted as the reader of models counts them, which skips a byte order mark.
            self.site, faults = read_text(text.removeprefix("\ufeff"), file)
            self.plan, more = plan_site(self.site)
            self.refused = [*faults, *more]
        except Refused as refused:
            self.refused = list(refused.diagnostics)

    def place(self, path: Path) -> Place:
        """The value at a path of the model, to the end of its line or of the value that stands there alone."""
        if self.site is None:
            return Place(self.text.file, 0, 0)
        place = self.site.source.place(path)
        return self.at(place.line, place.column)

    def at(self, line: int, column: int) -> Place:
        """What begins at a line and column: up to a comma, a comment, or the end of the line."""
        starts = self.text.starts()
        if not 1 <= line <= len(starts):
            return Place(self.text.file, 0, 0)
        if line == 1 and self.text.text.startswith("\ufeff"):
            column += 1
        start = min(starts[line - 1] + column - 1, len(self.text.text))
        rest = self.text.line(line)[column - 1 :]
        return Place(self.text.file, start, start + max(_value_length(rest), 1 if rest else 0))

    def uplinks(self) -> list[tuple[Gateway, Uplink, Link, Attachment]]:
        """Every line of every gateway, with what the model says about it."""
        if self.site is None or self.plan is None:
            return []
        found = []
        for gateway in self.plan.gateways:
            host = self.site.hosts.get(gateway.name)
            for uplink in gateway.uplinks:
                link = self.site.links.get(uplink.link)
                attachment = next((one for one in host.attachments if one.link == uplink.link), None) if host is not None else None
                if link is not None and attachment is not None:
                    found.append((gateway, uplink, link, attachment))
        return found

    def trees(self) -> list[tuple[Uplink, Link, Attachment, Tree]]:
        """Every shaped direction of every line."""
        return [
            (uplink, link, attachment, tree)
            for _, uplink, link, attachment in self.uplinks()
            for tree in (uplink.up, uplink.down)
            if tree is not None
        ]


def _value_length(rest: str) -> int:
    """The length of the TOML value that a line's rest begins with, roughly: enough to draw carets under it."""
    if rest[:1] in ('"', "'"):
        end = rest.find(rest[0], 1)
        return end + 1 if end > 0 else len(rest)
    if rest[:1] in ("[", "{"):
        return len(rest.partition("#")[0].rstrip())
    for index, character in enumerate(rest):
        if character in ",#}]= \t":
            return index
    return len(rest)


def lint_model(file: str, text: str, active: frozenset[str]) -> Result:
    """Lint a model."""
    model = Model(file, text)
    findings = []
    ran = {code for code, (_, where, _) in RULES.items() if where in ("site", "any") and code in active}
    if "PFQ004" in ran:
        findings += [_refusal(model, one) for one in model.refused]
    if not model.refused:
        for code in sorted(ran - set(OF_THE_RUNNER)):
            one = rule(code)
            if one.check_model is None:
                continue
            for finding in one.check_model(model):
                finding.code = code
                finding.severity = finding.severity or one.severity
                findings.append(finding)
    texts = {file: model.text}
    # A model that is refused was not judged by the other rules.
    judged = ran if not model.refused else ran & set(OF_THE_RUNNER)
    return Result(file, texts, "site", None, in_order(silence(findings, texts, frozenset(judged))))


def _refusal(model: Model, diagnostic: Diagnostic) -> Finding:
    place = diagnostic.place
    at = model.at(place.line, place.column) if place is not None else Place(model.text.file, 0, 0)
    return Finding(at.file, at.start, at.end, f"[{diagnostic.code}] {diagnostic.message}", diagnostic.hint, code="PFQ004", severity=ERROR)
