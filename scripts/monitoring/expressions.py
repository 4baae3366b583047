#!/usr/bin/env python3
"""Evaluates the expressions of a dashboard, and of the rules that a Prometheus has loaded, in that Prometheus, and looks for the metrics and
labels that they name.

  scripts/monitoring/expressions.py PROMETHEUS DASHBOARD [METRIC ...]

PROMETHEUS is its URL, DASHBOARD a file of Grafana's. Each METRIC exists only with an option that the scraped service does not have: it must have
no series, and panels with it may be empty. Prints a line for each problem (query, metric, label, empty, needless), then one with the counts. The
exit status is 1 if there is a problem.
"""
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

VARIABLES = {"$__rate_interval": "30s", "$__interval": "1s", "$__range": "30s", "$job": ".*", "$instance": ".*"}
KEYWORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}
LABEL_LIST = r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)"
LABEL_VALUES = r"label_values\((.*),\s*(\w+)\)"


def ask(prometheus, path, **parameters):
    """The data of an answer of the API; raises ValueError with the error in words."""
    try:
        with urllib.request.urlopen(f"{prometheus}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        raise ValueError(json.load(error)["error"]) from error


def with_values(expression):
    """The expression as Grafana sends it."""
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def names_in(expression):
    """The metrics and the labels that an expression names."""
    rest = re.sub(r"\[[^\]]*\]", "", re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression))
    labels = {label for labels in re.findall(LABEL_LIST, rest) for label in re.findall(r"\w+", labels)}
    labels.update(label for matchers in re.findall(r"{([^}]*)}", rest) for label in re.findall(r"(\w+)\s*[=!]", matchers))
    rest = re.sub(r"{[^}]*}", "", re.sub(LABEL_LIST, "", rest))
    metrics = set(re.findall(r"(?<![\w.])[A-Za-z_:][\w:]*(?![\w:]|\s*\()", rest))
    return {metric for metric in metrics if metric.lower() not in KEYWORDS}, labels


def main(prometheus, dashboard_file, *optional):
    with open(dashboard_file, encoding="utf-8") as file:
        dashboard = json.load(file)
    rules = [rule["query"] for group in ask(prometheus, "rules")["groups"] for rule in group["rules"]]
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    shown = [with_values(target["expr"]) for panel in panels for target in panel["targets"]]
    lists = [re.fullmatch(LABEL_VALUES, with_values(variable["query"])).groups()
             for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    known_metrics = set(ask(prometheus, "label/__name__/values"))
    known_labels = set(ask(prometheus, "labels"))

    problems = {f"needless {name}" for name in known_metrics.intersection(optional)}
    used, used_labels = set(), {label for _, label in lists}
    for expression in rules + shown + [selector for selector, _ in lists]:
        metrics, labels = names_in(expression)
        used |= metrics
        used_labels |= labels
        try:
            result = ask(prometheus, "query", query=expression)["result"]
            if not result and expression not in rules and not metrics.intersection(optional):
                problems.add(f"empty {expression}")
        except ValueError as error:
            problems.add(f"query {expression}: {error}")
    problems |= {f"metric {name}" for name in used - known_metrics - set(optional)}
    problems |= {f"label {name}" for name in used_labels - known_labels}
    problems |= {f"needless {name}" for name in set(optional) - used}
    print(*sorted(problems), sep="\n", end="\n" if problems else "")
    print(f"{len(rules)} rules, {len(panels)} panels, {len(shown)} expressions, {len(used)} metrics, {len(used_labels)} labels")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
