"""What is done on the line while pings are counted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    """Transfers that last: `uploads` and `downloads` of each of `hosts` inside, over IPv4 or 6. web: pages are fetched; ssh: somebody types."""

    name: str
    uploads: int
    downloads: int
    hosts: int = 1
    family: int = 4
    web: bool = False
    ssh: bool = False


# Two uploads and four downloads at once, as the seed article on ADSL tests.
SCENARIOS = {
    row.name: row
    for row in (
        Scenario("idle", 0, 0),
        Scenario("upload", 2, 0),
        Scenario("download", 0, 4),
        Scenario("both", 2, 4),
        Scenario("both-ipv6", 2, 4, family=6),
        Scenario("both-15-hosts", 1, 1, hosts=15),
        Scenario("web-ssh", 2, 4, web=True, ssh=True),
    )
}
