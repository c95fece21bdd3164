"""Transforms a SAM template as CloudFormation does and checks its REST APIs:
each proxy integration has responseTransferMode STREAM and the URI of streaming
invocations together, since one without the other breaks every answer.

    python streaming.py TEMPLATE
"""

import json
import sys
from unittest.mock import Mock

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

with open(sys.argv[1]) as file:
    template = yaml_parse(file.read())
for resource in template["Resources"].values():
    if "CodeUri" in resource.get("Properties", {}):
        resource["Properties"]["CodeUri"] = "s3://bucket/key"  # as `sam deploy` leaves it

translated = Translator(managed_policy_map={}, sam_parser=Parser(), boto_session=Mock(region_name="eu-west-1")).translate(
    template, parameter_values={}
)



def integrations(node, where):
    """Finds all integrations below a node, within conditions too."""
    if isinstance(node, list):
        for value in node:
            yield from integrations(value, where)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key == "x-amazon-apigateway-integration":
                yield where, value
            else:
                yield from integrations(value, f"{where} {key}")


streaming = 0
for name, resource in translated["Resources"].items():
    if resource["Type"] != "AWS::ApiGateway::RestApi":
        continue
    for where, integration in integrations(resource["Properties"]["Body"], name):
        mode = integration.get("responseTransferMode")
        uri = json.dumps(integration["uri"])
        if mode != "STREAM" or "/2021-11-15/functions/" not in uri or "/response-streaming-invocations" not in uri:
            sys.exit(f"{where} does not stream: {mode}, {uri}")
        streaming += 1
if streaming != 7:  # /mcp and its OPTIONS of each API, the callbacks, the description twice
    sys.exit(f"{streaming} streaming integrations, want 7")
print(f"{streaming} streaming integrations")
