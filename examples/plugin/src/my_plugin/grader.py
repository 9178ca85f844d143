"""A grader for answers that begin with the label: `use = "prefix"` in the table `[grader]`."""

from mesocosm.rollouts.graders.answer import AnswerConfig, extract, labels
from mesocosm.rollouts.graders.ready import GraderVerdict, ReadyGrader, failed, passed
from mesocosm.rollouts.sdk.context import GraderContext


class PrefixConfig(AnswerConfig):
    """Options: where the answer is in the reply, and `case`, whether upper and lower case differ."""

    name: str = "prefix"
    case: bool = True


class PrefixGrader(ReadyGrader[PrefixConfig]):
    """Grades 1 if the answer begins with the label, else 0."""

    Config = PrefixConfig

    async def verdict(self, ctx: GraderContext, reply: str) -> GraderVerdict:
        """Grade a reply. Raises ValueError if the row has no label."""
        expected = labels(ctx.label, ctx.metadata, self.options)
        answer = extract(reply, self.options)
        if not self.options.case:
            answer, expected = answer.lower(), [label.lower() for label in expected]
        if any(answer.startswith(label) for label in expected):
            return passed()
        return failed(f"{answer!r:.100} does not begin with {expected[0]!r:.100}")
