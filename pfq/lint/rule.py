"""What a rule is made of. A rule's file defines one `RULE`; the documentation is made from it."""

from .finding import WARNING

# mypy takes a name like this for true; importing typing would cost as much as reading a small ruleset.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .finding import Finding
    from .model import Model
    from .ruleset import Ruleset


class Rule:
    """A rule.

    `message` is one line; `explanation` is Markdown. `wrong` and `right` are whole files of the dialect `example` (or models, for
    'site') that the rule finds and does not find. `fix` says what `--fix` or a reader can do, '' for nothing; `safe` whether `--fix`
    does it. `whole`: only a ruleset that pfctl accepts can be judged. `check` is for rulesets, `check_model` for models.
    """

    __slots__ = (
        "check", "check_model", "code", "example", "explanation", "fix", "message", "name", "right", "safe", "severity", "since",
        "whole", "wrong",
    )

    def __init__(
        self,
        code: str,
        name: str,
        message: str,
        explanation: str,
        wrong: str,
        right: str,
        example: str,
        check: "Callable[[Ruleset], Iterable[Finding]] | None" = None,
        check_model: "Callable[[Model], Iterable[Finding]] | None" = None,
        severity: str = WARNING,
        fix: str = "",
        safe: bool = False,
        whole: bool = False,
        since: str = "0.1",
    ) -> None:
        self.code = code
        self.name = name
        self.message = message
        self.explanation = explanation
        self.wrong = wrong
        self.right = right
        self.example = example
        self.check = check
        self.check_model = check_model
        self.severity = severity
        self.fix = fix
        self.safe = safe
        self.whole = whole
        self.since = since
