"""What is wrong with a text, from reading it and planning what could be read, as the commands do."""

from pfq.diagnostics import Diagnostic, Refused, in_order
from pfq.plan.build import plan_site
from pfq.site.load import read_text


def faults_of(text: str, file: str = "m") -> list[Diagnostic]:
    """Every fault of both stages, each once, in the order of the file."""
    try:
        site, found = read_text(text, file)
    except Refused as refused:
        return in_order(refused.diagnostics)
    _, more = plan_site(site)
    return in_order((*found, *more))
