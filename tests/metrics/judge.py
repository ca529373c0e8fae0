"""Judges a page of metrics, the dashboard and the alerts by parsers that we did not write. usage: judge.py OPENMETRICS TEXT CONTRIB"""

import json
import pathlib
import sys

import promql_parser
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

page, plain, contrib = (pathlib.Path(argument) for argument in sys.argv[1:4])
families = list(text_string_to_metric_families(page.read_text()))
for family in families:
    assert family.documentation, f"{family.name} has no help"
    assert family.type != "unknown", f"{family.name} has no type"
    for unit in ("milliseconds", "millis", "minutes", "kilobytes", "megabytes"):
        assert unit not in family.name, f"{family.name} is not in a base unit"
    if family.type == "counter":
        assert all(sample.name.endswith(("_total", "_created")) for sample in family.samples), family.name
    if family.type == "histogram":
        assert family.name.endswith(("_seconds", "_usd")), f"{family.name} does not name its unit"

dashboard = json.loads((contrib / "grafana/chorus.json").read_text())
queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
rules = yaml.safe_load((contrib / "prometheus/alerts.yml").read_text())
for group in rules["groups"]:
    for rule in group["rules"]:
        assert rule["annotations"]["summary"], rule
        queries.append(rule["expr"])
for query in queries:
    promql_parser.parse(query.replace("$__rate_interval", "5m").replace("$job", "chorus"))

types = {family.name: family.type for family in families}
# The older format has no type for what it calls by another name.
older = {family.name: family.type for family in plain_families(plain.read_text())}
renamed = {name + "_info" if kind == "info" else name: "gauge" if kind == "info" else kind for name, kind in types.items()}
assert older == renamed, (older, renamed)
print(json.dumps({"families": types, "queries": len(queries)}))
