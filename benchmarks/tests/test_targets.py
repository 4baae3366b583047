import unittest

from bench.figures import CPU, REQUESTS, Figure, Sample, Series
from bench.targets import Target, judge, judge_all, ratio


def series(name: str, *values: float, figure: Figure = CPU, limited: bool = False) -> Series:
    return Series(name, samples=[Sample({figure: value}, limited=limited) for value in values])


class TargetTests(unittest.TestCase):
    def outcome(self, target: Target, *measured: Series) -> str:
        return judge_all([target], measured)[0].outcome

    def test_ratio_is_to_the_better_reference(self) -> None:
        measured = {each.name: each for each in (series("a", 4, 6, 5), series("b", 10, 10, 10), series("c", 8, 12, 20))}
        verdict = judge(Target("a", CPU, 0.6, against=("b", "c")), measured)
        assert verdict is not None
        self.assertEqual((verdict.reference, verdict.seen, verdict.low, verdict.high), ("b", 0.5, 0.4, 0.6))

    def test_ratio_is_of_rounds_and_not_of_medians(self) -> None:
        slow_and_fast = (series("a", 6, 6, 3), series("b", 10, 5, 5))
        verdict = judge_all([Target("a", CPU, 0.7, against=("b",))], slow_and_fast)[0]
        self.assertEqual((verdict.seen, verdict.low, verdict.high), (0.6, 0.6, 1.2))

    def test_lower_is_better(self) -> None:
        target = Target("a", CPU, 0.7, 0.5, against=("b",))
        for value, outcome in ((5, "goal"), (5.1, "must"), (7, "must"), (7.1, "**missed**")):
            self.assertEqual(self.outcome(target, series("a", value), series("b", 10)), outcome)

    def test_plus_is_in_the_unit_of_the_figure(self) -> None:
        target = Target("a", CPU, 1.1, 1.0, against=("b",), plus=0.5)
        for value, outcome in ((2.5, "goal"), (2.7, "must"), (2.71, "**missed**")):
            self.assertEqual(self.outcome(target, series("a", value), series("b", 2)), outcome)

    def test_higher_is_better_where_at_least(self) -> None:
        target = Target("a", REQUESTS, 100, 200, at_least=True)
        for value, outcome in ((200, "goal"), (100, "must"), (99, "**missed**")):
            self.assertEqual(self.outcome(target, series("a", value, figure=REQUESTS)), outcome)

    def test_best_reference_is_the_highest_where_at_least(self) -> None:
        target = Target("a", REQUESTS, 1, against=("b", "c"), at_least=True)
        measured = (series(name, value, figure=REQUESTS) for name, value in (("a", 50), ("b", 40), ("c", 100)))
        self.assertEqual(self.outcome(target, *measured), "**missed**")

    def test_goal_alone_cannot_be_missed(self) -> None:
        self.assertEqual(self.outcome(Target("a", CPU, None, 1), series("a", 2)), "below the goal")

    def test_neither_must_nor_goal_is_for_comparison(self) -> None:
        self.assertEqual(self.outcome(Target("a", CPU, None, against=("b",)), series("a", 2), series("b", 1)), "for comparison")

    def test_what_was_not_measured_has_no_verdict(self) -> None:
        targets = [Target("x", CPU, 1), Target("a", REQUESTS, 1), Target("a", CPU, 1, against=("x",))]
        self.assertEqual(judge_all(targets, [series("a", 1)]), [])

    def test_limited_rounds_of_either_side_mark_the_verdict(self) -> None:
        target = Target("a", CPU, 1, against=("b",))
        for a, b, limited in ((False, False, False), (True, False, True), (False, True, True)):
            verdict = judge_all([target], [series("a", 1, limited=a), series("b", 1, limited=b)])[0]
            self.assertEqual(verdict.limited, limited)

    def test_half_of_the_rounds_is_not_most(self) -> None:
        each = series("a", 1, 1)
        each.samples[0] = Sample({CPU: 1}, limited=True)
        self.assertFalse(each.is_limited)

    def test_ratio_to_nothing(self) -> None:
        self.assertEqual((ratio(0, 0), ratio(1, 0), ratio(1, 2)), (1, float("inf"), 0.5))
