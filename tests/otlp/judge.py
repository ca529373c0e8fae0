"""Reads what a collector was sent, by the published schema and Google's own library. usage: judge.py FILE…, one request each"""

import json
import pathlib
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

spans = []
for argument in sys.argv[1:]:
    request = ExportTraceServiceRequest.FromString(pathlib.Path(argument).read_bytes())
    assert not list(UnknownFieldSet(request)), "a field that the schema does not have"
    for resource in request.resource_spans:
        service = [one.value.string_value for one in resource.resource.attributes if one.key == "service.name"]
        assert service == ["chorus"], service
        for span in (span for scope in resource.scope_spans for span in scope.spans):
            assert not list(UnknownFieldSet(span)), f"{span.name} has a field that the schema does not have"
            assert len(span.trace_id) == 16 and any(span.trace_id), f"{span.name} has no trace"
            assert len(span.span_id) == 8 and any(span.span_id), f"{span.name} has no id"
            assert len(span.parent_span_id) in (0, 8), f"{span.name} has half a parent"
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, f"{span.name} ends before it begins"
            spans.append(span)

known = {span.span_id: span.trace_id for span in spans}
assert len(known) == len(spans), "two spans share an id"
for span in spans:
    if span.parent_span_id:
        assert known.get(span.parent_span_id) == span.trace_id, f"{span.name} lies in a span that is not there, or of another trace"
print(json.dumps([{
    "name": span.name,
    "trace": span.trace_id.hex(),
    "id": span.span_id.hex(),
    "parent": span.parent_span_id.hex(),
    "keys": sorted(one.key for one in span.attributes),
} for span in spans]))
