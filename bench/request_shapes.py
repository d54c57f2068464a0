"""Write the facts of DynamoDB's published API model that the engine checks requests by, or compare them with the installed model.

    python bench/request_shapes.py           # write src/gateleg/engine/protocol/model.json
    python bench/request_shapes.py --check   # exit with 1 if the file is not what the installed botocore says, and print the difference

Facts only, no documentation: names (`!` marks required members), types, limits, patterns and values of what requests contain. New
operations and members come with a new botocore and this script. Where DynamoDB itself differs from its model stands in
`gateleg.engine.protocol.shapes`.
"""

import argparse
import difflib
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import botocore

MODEL = Path(__file__).parents[1] / "src" / "gateleg" / "engine" / "protocol" / "model.json"
SERVICES = ("dynamodb", "dynamodbstreams")
FACTS = ("type", "enum", "min", "max", "pattern")


def published(service: str) -> dict[str, Any]:
    """The newest model of a service in botocore's data."""
    folder = max((Path(botocore.__file__).parent / "data" / service).iterdir())
    packed = folder / "service-2.json.gz"
    content = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / "service-2.json").read_bytes()
    model: dict[str, Any] = json.loads(content)
    return model


def facts(model: dict[str, Any], name: str, shapes: dict[str, Any]) -> None:
    """Add a shape, and those that it contains, to `shapes`."""
    if name in shapes:
        return
    # Attribute values are not checked by their shape.
    shape: dict[str, Any] = model["shapes"][name] if name != "AttributeValue" else {"type": "structure"}
    entry = shapes[name] = {fact: shape[fact] for fact in FACTS if fact in shape}
    contained = {member: reference["shape"] for member, reference in shape.get("members", {}).items()}
    if shape["type"] == "structure":
        required = shape.get("required", ())
        entry["members"] = {f"{member}!" if member in required else member: inner for member, inner in contained.items()}
    for part in ("member", "value"):
        if part in shape:
            entry[part] = contained[part] = shape[part]["shape"]
    for inner in contained.values():
        facts(model, inner, shapes)


def text() -> str:
    """The content of the file: one shape a line."""
    operations: dict[str, str] = {}
    shapes: dict[str, Any] = {}
    for service in SERVICES:
        model, own = published(service), dict[str, Any]()
        for name, operation in model["operations"].items():
            operations[name] = operation["input"]["shape"]
            facts(model, operation["input"]["shape"], own)
        if conflicts := sorted(name for name in own.keys() & shapes.keys() if own[name] != shapes[name]):
            raise SystemExit(f"{service} has other shapes of these names: {', '.join(conflicts)}")
        shapes |= own
    lines = [
        "{",
        f'"botocore": {json.dumps(botocore.__version__)},',
        '"operations": {',
        ",\n".join(f"{json.dumps(name)}: {json.dumps(shape)}" for name, shape in sorted(operations.items())),
        "},",
        '"shapes": {',
        ",\n".join(f"{json.dumps(name)}: {json.dumps(shape, separators=(', ', ': '))}" for name, shape in sorted(shapes.items())),
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file differs")
    new = text()
    if not parser.parse_args().check:
        MODEL.write_text(new)
        return
    difference = list(difflib.unified_diff(MODEL.read_text().splitlines(), new.splitlines(), "model.json", "botocore", lineterm="", n=0))
    sys.exit("\n".join(difference) or None)


if __name__ == "__main__":
    main()
