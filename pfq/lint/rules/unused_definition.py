"""PFQ407. A link or policy that nothing uses (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule


def check(model: Model) -> list[Finding]:
    site = model.site
    if site is None:
        return []
    attached = {attachment.link for host in site.hosts.values() for attachment in host.attachments}
    found = []
    for link in site.links.values():
        if link.name not in attached:
            found.append(model.place(link.path).finding(f"no host is attached to the link {link.name}", "remove it, or add it to a host's links"))
    used = {link.policy for link in site.links.values()}
    for policy in site.policies.values():
        # The default policy is built in, and stands nowhere.
        if policy.path and policy.name not in used:
            found.append(model.place(policy.path).finding(f"no link has the policy {policy.name}", "remove it, or name it in a link"))
    return found


RULE = Rule(
    "PFQ407",
    "unused-definition",
    "a link or a policy is never used",
    "Nothing comes of it; often its name is meant in a place where the default stands now.",
    wrong="""[links.dsl]
up = "1 Mbit"

[policies.office]
classes = [{ name = "rest", default = true }]

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
""",
    right="""[links.dsl]
up = "1 Mbit"
policy = "office"

[policies.office]
classes = [{ name = "rest", default = true }]

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "em0"
""",
    example="site",
    check_model=check,
)
