import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from bench.figures import CPU, P99, SYSTEM, USER, Sample, Series
from bench.report import markdown, page, svg
from bench.report.markdown import Section
from bench.targets import Target
from bench.works.work import Result

NAMESPACE = "{http://www.w3.org/2000/svg}"


def result() -> Result:
    samples = [Sample({CPU: 4, USER: 1, SYSTEM: 3, P99: 2}, {50: 1, 99: 2}), Sample({CPU: 6, USER: 2, SYSTEM: 4, P99: 3}, {50: 1, 99: 3}, True)]
    return Result((CPU, P99), [Series("a & b", "about it", samples)], [Target("a & b", CPU, 4, 3)], ["A note."])


class SvgTests(unittest.TestCase):
    def test_bars_are_as_long_as_their_values(self) -> None:
        root = ElementTree.fromstring(svg.bars("Title", [("x", (1, 3)), ("y & z", (2, 6))], ("user", "system")))
        widths = [float(rect.get("width", "0")) for rect in root.iter(f"{NAMESPACE}rect")][:4]
        for width, value in zip(widths, (1, 3, 2, 6), strict=True):
            self.assertAlmostEqual(width / widths[0], value, delta=0.01)
        self.assertIn("y & z", [text.text for text in root.iter(f"{NAMESPACE}text")])

    def test_longest_bar_stays_inside(self) -> None:
        root = ElementTree.fromstring(svg.bars("Title", [("x", (1e6, 3e6))], ("user", "system")))
        self.assertLess(max(float(rect.get("x", "0")) + float(rect.get("width", "0")) for rect in root.iter(f"{NAMESPACE}rect")), svg.WIDTH)

    def test_lines_rise_with_the_latency(self) -> None:
        root = ElementTree.fromstring(svg.lines("Title", [("x", [(50, 0.1), (99, 1), (100, 10)]), ("y", [(50, 0.5), (100, 0.5)])]))
        points = [[float(each.split(",")[1]) for each in line.get("points", "").split()] for line in root.iter(f"{NAMESPACE}polyline")]
        self.assertAlmostEqual(points[0][0] - points[0][1], points[0][1] - points[0][2], delta=0.2)
        self.assertGreater(points[0][0], points[0][1])
        self.assertEqual(len(set(points[1])), 1)

    def test_nothing_to_draw_is_still_a_picture(self) -> None:
        for picture in (svg.bars("Title", [], ()), svg.lines("Title", [])):
            ElementTree.fromstring(picture)

    def test_decades_surround_the_values(self) -> None:
        self.assertEqual(svg.decades([0.3, 42]), (-1, 2))
        self.assertEqual(svg.decades([1]), (0, 1))
        self.assertEqual(svg.decades([]), (0, 1))


class MarkdownTests(unittest.TestCase):
    def test_report_has_verdicts_table_and_plots(self) -> None:
        text = markdown.render("Title", ["A fact"], [Section("work", "The work", result())])
        self.assertIn("| `work` | a & b | CPU µs/request | **5** (4-6) | ≤ 4 | ≤ 3 | **missed** |", text)
        self.assertIn("| a & b | 5.00 (4.00-6.00) | 2.50 (2.00-3.00) | 1 of 2 |", text)
        self.assertIn("![work-cpu](work-cpu.svg)", text)
        self.assertIn("A note.", text)

    def test_work_without_result_says_why(self) -> None:
        text = markdown.render("Title", [], [Section("work", "The work", problem="perf cannot count")])
        self.assertIn("| `work` |  |  |  |  |  | not measured |", text)
        self.assertIn("Not measured: perf cannot count", text)

    def test_plots_are_those_that_have_figures(self) -> None:
        self.assertEqual(set(markdown.plots("work", result().series)), {"work-cpu.svg", "work-latency.svg"})
        self.assertEqual(markdown.plots("work", [Series("x", samples=[Sample({P99: 1})])]), {})


class PageTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="page-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def publish(self, *names: str, fact: str = "a fact", order: tuple[str, ...] = ("a", "b")) -> str:
        page.publish(self.folder, "A machine", [fact], [Section(name, f"Work {name}", result()) for name in names], order)
        return (self.folder / page.NAME).read_text()

    def test_new_figures_take_the_place_of_old_ones_of_the_same_work(self) -> None:
        self.publish("b", "a", fact="first")
        text = self.publish("b", fact="second")
        self.assertEqual((text.count("*first*"), text.count("*second*")), (1, 1))
        self.assertLess(text.index("## Work a"), text.index("## Work b"))
        self.assertIn("![a-cpu](a-cpu.svg)", text)

    def test_work_that_was_not_measured_keeps_its_figures(self) -> None:
        before = self.publish("a")
        page.publish(self.folder, "A machine", [], [Section("a", "Work a", problem="perf cannot count")], ["a"])
        self.assertEqual(before, (self.folder / page.NAME).read_text())

    def test_work_that_is_gone_takes_its_pictures_along(self) -> None:
        self.publish("a", "b")
        text = self.publish("a", order=("a",))
        self.assertNotIn("Work b", text)
        self.assertEqual({each.name for each in self.folder.glob("*.svg")}, {"a-cpu.svg", "a-latency.svg"})

    def test_folder_is_named_after_the_processor(self) -> None:
        self.assertEqual(page.folder("AMD EPYC", 2), "amd-epyc-2-cores")
        self.assertEqual(page.folder("Intel(R) Xeon(R) Processor @ 2.90GHz", 4), "intel-xeon-4-cores")
