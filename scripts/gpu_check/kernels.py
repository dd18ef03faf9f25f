"""Checks with the programs of bench/gpu: cuDNN's plans and the kernels of a step."""

import collections
import json
import statistics

from gpu_check.running import Check, NotMade

# Configurations with convolutions, the most informative first.
NETWORKS = ("quickstart.yaml", "cifar10_scratch.yaml", "cifar10_transfer.yaml", "ginkgo_images.yaml", "pde.yaml")
FASTER = 1.05  # minimum speed-up at which the report names another plan
TRACER = "libkernel_trace.so"
NAMED = 12  # number of kernels in the report's text; its JSON has all of them


def read_lines(text, key):
    """(rows with `key`, other objects, last object) of an output with one JSON object per line. The last one is {"end":
    number of rows}. ValueError if the output is cut off or malformed."""
    objects = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            objects.append({**json.loads(line)})
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number} is not JSON: {line[:80]!r}") from error
    rows, others = ([row for row in objects if (key in row) is wanted] for wanted in (True, False))
    if not rows or key in objects[-1] or "end" not in objects[-1]:
        raise ValueError(f"it ends after {len(rows)} rows, without its last line")
    if objects[-1]["end"] != len(rows):
        raise ValueError(f"{len(rows)} rows instead of {objects[-1]['end']}")
    return rows, others[:-1], objects[-1]


def positive(row, *keys):
    """The values of these keys in a row; ValueError unless all are positive and finite."""
    for key in keys:
        if not isinstance(row.get(key), (int, float)) or not 0 < row[key] < float("inf"):
            raise ValueError(f"'{key}' is {row.get(key)!r} in {json.dumps(row)[:200]}")
    return [row[key] for key in keys]


def plans(context):
    """The time of each plan that cuDNN has for the networks' convolutions (bench/gpu/conv_plans.cpp)."""
    tool, obstacle = context.tool("conv_plans")

    def judge(result):
        rows, others, last = read_lines(result.output(), "plan")
        described = next(line["device_properties"] for line in others if "device_properties" in line)
        context.report.keep_log("cudnn-device-properties", json.dumps(described, indent=2) + "\n")
        positive(described, "multiProcessorCount")
        head, *slower = plan_words(rows)
        context.report.records["conv_plans"] = rows
        head += f"; {last['left']} convolutions were not reached" if last.get("left") else ""
        return "\n".join([head, *slower, *(f"no plan: {line['unplanned']}" for line in others if "unplanned" in line)])

    configs = [context.configs / name for name in NETWORKS[: 1 if context.quick else None]]
    command = [tool, "--device", context.device, "--seconds", int(0.7 * context.limit(150)), *configs]
    yield Check("all plans of cuDNN", command, judge, 150, obstacle)


def plan_words(rows):
    """The number of plans, and the passes for which a plan is faster than cuDNN's choice."""
    graphs = collections.defaultdict(list)
    for row in rows:
        graphs[row["convolution"], row["bias"], row["relu"], row["pass"]].append(row)
    timed, slower = 0, []
    for (convolution, _, _, name), plans_of_it in graphs.items():
        times = {row["engine"]: positive(row, "us")[0] for row in plans_of_it if "refused" not in row}
        timed += len(times)
        chosen = next((row["engine"] for row in plans_of_it if row.get("chosen")), None)
        if chosen is None:
            raise ValueError(f"no plan of {name} of {convolution} is the chosen one")
        best = min(times, key=times.get)
        if times[chosen] > FASTER * times[best]:
            slower.append(f"{name} of {convolution}: {chosen} {times[chosen]:.1f} us, {best} {times[best]:.1f} us")
    timing = f"{timed} timed; {len(slower)} with a faster plan than cuDNN's choice"
    return [f"{len(graphs)} passes, {len(rows)} plans, {timing}", *slower]


def nodes(context):
    """The kernels of a step, as recorded by CUPTI (bench/gpu/kernel_trace.cpp)."""
    tracer, obstacle = context.tool(TRACER)
    path = context.folder / "trace.jsonl"

    def judge(result):
        result.output()
        text = path.read_text(errors="replace") if path.is_file() else ""
        context.report.keep_log(f"trace of {context.name}", text)
        if not text:
            raise ValueError(f"the driver did not load {TRACER}")
        step = read_trace(text)
        context.report.records[f"nodes of {context.name.partition(',')[0]}"] = step
        return "\n".join(step_words(step))

    for config in ("quickstart.yaml", "ee_mumu.yaml"):
        steps = context.train(config, "train.steps=64", "eval.sources=[]", "--graph", "on")
        command = ["env", f"CUDA_INJECTION64_PATH={tracer}", f"WELLSPRING_TRACE={path}", *steps]
        yield Check(f"{config}, the kernels of a step", command, judge, 90, obstacle)


def steps_of(records):
    """Replays of the graph that has the most records, each in time order. A repeated node starts the next replay. Drops
    the first half of the replays as warm-up."""
    graphs = collections.Counter(record["graph"] for record in records if record["graph"])
    if not graphs:
        raise ValueError("no graph launched anything")
    graph, steps = graphs.most_common(1)[0][0], []
    for record in sorted((r for r in records if r["graph"] == graph), key=lambda r: r["start"]):
        positive(record, "start", "end")
        if record["end"] < record["start"]:
            raise ValueError(f"a kernel ends before it begins: {record}")
        if not steps or record["node"] in steps[-1]:
            steps.append({})
        steps[-1][record["node"]] = record
    usual = statistics.mode(map(len, steps))
    whole = [list(step.values()) for step in steps if len(step) == usual]
    return whole[len(whole) // 2 :]


def busy_and_gaps(step):
    """Nanoseconds during which anything ran (records may overlap), and the gaps between."""
    busy, gaps, until = 0, [], step[0]["start"]
    for record in step:
        gaps.append(max(0, record["start"] - until))
        busy += max(0, record["end"] - max(record["start"], until))
        until = max(until, record["end"])
    return busy, gaps[1:]


def read_trace(text):
    """Medians over the steps of a trace, in microseconds; kernels by name, the longest first."""
    if text.startswith('{"unavailable"'):
        raise NotMade(f"CUPTI cannot be used here: {json.loads(text)['unavailable']}")
    records, _, last = read_lines(text, "kind")
    if last.get("dropped") != 0:
        raise ValueError(f"{last.get('dropped')} records were dropped")
    steps = steps_of(records)

    def median(values):
        return statistics.median(values) / 1e3

    def total(step, name):
        return sum(record["end"] - record["start"] for record in step if record["name"] == name)

    busy, gaps = zip(*map(busy_and_gaps, steps))
    counts = collections.Counter(record["name"] for record in steps[-1])
    kernels = [{"name": name, "count": count, "us": median(total(step, name) for step in steps)}
               for name, count in counts.items()]  # fmt: skip
    return {
        "steps": len(steps),
        "nodes": len(steps[0]),
        "us": median(max(record["end"] for record in step) - step[0]["start"] for step in steps),
        "us_busy": median(busy),
        "us_to_next": median(b[0]["start"] - a[0]["start"] for a, b in zip(steps, steps[1:])) if steps[1:] else None,
        "gaps_us": [median(values) for values in zip(*gaps)],
        "kernels": sorted(kernels, key=lambda kernel: -kernel["us"]),
    }


def step_words(step):
    gaps = step["gaps_us"] or [0]
    period = f", the next one starts after {step['us_to_next']:.1f}" if step["us_to_next"] else ""
    yield (f"{step['nodes']} nodes in {step['us']:.1f} us, busy {step['us_busy'] / step['us']:.0%}; "
           f"gaps of {statistics.mean(gaps):.2f} us on average, the longest {max(gaps):.2f}{period}")  # fmt: skip
    for kernel in step["kernels"][:NAMED]:
        yield f"{kernel['us']:.2f} us in {kernel['count']}: {kernel['name'][:120]}"
