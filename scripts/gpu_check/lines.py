"""Parser for the output of the programs in bench/gpu: one JSON object per line; the last is {"end": number of rows}."""

import json


def read_lines(text, key):
    """(rows with `key`, other objects, last object). ValueError if the output is cut off or malformed."""
    objects = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            objects.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number} is not JSON: {line[:80]!r}") from error
        if not isinstance(objects[-1], dict):
            raise ValueError(f"line {number} is not an object: {line[:80]!r}")
    rows = [row for row in objects if key in row]
    if not objects or key in objects[-1] or "end" not in objects[-1]:
        raise ValueError(f"it ends after {len(rows)} rows, without its last line")
    if objects[-1]["end"] != len(rows):
        raise ValueError(f"{len(rows)} rows instead of {objects[-1]['end']}")
    return rows, [row for row in objects[:-1] if key not in row], objects[-1]


def positive(row, *keys):
    """The values of these keys in a row; ValueError unless all are positive and finite."""
    for key in keys:
        if not isinstance(row.get(key), (int, float)) or not 0 < row[key] < float("inf"):
            raise ValueError(f"'{key}' is {row.get(key)!r} in {json.dumps(row)[:200]}")
    return [row[key] for key in keys]
