"""What programs of bench/gpu print: a JSON object a line, and last {"end": how many rows there were}."""

import json


def read_lines(text, key):
    """(rows: the objects that have `key`; others; the last one). ValueError where it is anything else, or
    was cut off."""
    objects = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            objects.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number} is no JSON: {line[:80]!r}") from error
        if not isinstance(objects[-1], dict):
            raise ValueError(f"line {number} is no object: {line[:80]!r}")
    rows = [row for row in objects if key in row]
    last = objects.pop() if objects and "end" in objects[-1] and key not in objects[-1] else None
    if last is None:
        raise ValueError(f"it ends after {len(rows)} rows, without its last line")
    if last["end"] != len(rows):
        raise ValueError(f"{len(rows)} rows, where there should be {last['end']}")
    return rows, [row for row in objects if key not in row], last


def positive(row, *keys):
    """The numbers of a row; ValueError where one is none, or not above 0."""
    values = [row.get(key) for key in keys]
    for key, value in zip(keys, values):
        if not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise ValueError(f"'{key}' is {value!r} in {json.dumps(row)[:200]}")
    return values
