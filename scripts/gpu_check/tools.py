"""What the programs of bench/gpu measure: the cost of starting kernels, the heaviest generators under other
launch bounds, and all plans of cuDNN."""

import json

from gpu_check.lines import positive, read_lines
from gpu_check.running import Check, Outcome

# Networks with convolutions, the most telling first.
NETWORKS = ("quickstart.yaml", "cifar10_scratch.yaml", "cifar10_transfer.yaml", "ginkgo_images.yaml", "pde.yaml")
# By how much another plan, or launch bound, must be faster to be named.
FASTER = 1.05
# What shows no more than that kernels run under other bounds.
FEW_BOUNDS = ["--size", 32, "--batch", 8, "shapes", "visual_atom"]


def absent(context, tool):
    """An Outcome where a tool is not there, None where it is."""
    if context.installation.tool(tool).is_file():
        return None
    return Outcome(None, f"this build has no {tool}")


def launches(_):
    def chain(context, seconds):
        problem = absent(context, "launch_chain")
        if problem:
            return problem
        result = context.run("launch_chain", [context.installation.tool("launch_chain"), context.device], seconds)
        if result.returncode != 0:
            return Outcome(False, result.tail())
        try:
            rows, _, _ = read_lines(result.stdout, "name")
            words = [chain_words(row) for row in rows]
        except ValueError as error:
            return Outcome(False, f"what it wrote are no times ({error})\n{result.tail()}")
        context.report.records["launches"] = rows
        return Outcome(bool(rows), "\n".join(words))

    yield Check("a chain of kernels that do nothing", chain, 60)


def chain_words(row):
    step, alone, host, nodes = positive(row, "us_a_step", "us_a_step_alone", "host_us_a_step", "nodes_a_step")
    return (
        f"{row['name']}: {step:.1f} us a step ({step / nodes:.2f} a kernel), alone {alone:.1f}, "
        f"of the host {host:.1f}"
    )


def bounds(context):
    def check(context, seconds):
        problem = absent(context, "launch_bounds")
        if problem:
            return problem
        chosen = FEW_BOUNDS if context.quick else []
        command = [context.installation.tool("launch_bounds"), "--device", context.device, *chosen]
        result = context.run("launch_bounds", command, seconds)
        if result.returncode != 0:
            return Outcome(False, result.tail())
        try:
            rows, _, _ = read_lines(result.stdout, "generator")
            words = bound_words(rows)
        except (ValueError, KeyError) as error:
            return Outcome(False, f"what it wrote are no times ({error!r})\n{result.tail()}")
        context.report.records["launch bounds"] = rows
        return Outcome(bool(rows), "\n".join(words))

    yield Check("kernels under other launch bounds", check, 150)


def bound_words(rows):
    """Of each generator the rate of the program's kernel, and the fastest other one."""
    words = []
    for name in dict.fromkeys(row["generator"] for row in rows):
        of_it = [row for row in rows if row["generator"] == name]
        for row in of_it:
            positive(row, "us", "samples")
        own = next((row for row in of_it if row["shipped"]), None)
        if own is None:
            raise ValueError(f"no row of {name} is that of the program")
        best = min(of_it, key=lambda row: row["us"])
        line = f"{name}: {1e6 * own['samples'] / own['us']:.0f} samples/s"
        if own["us"] > FASTER * best["us"]:
            line += f"; {own['us'] / best['us']:.2f} times as many with {variant_words(best)}"
        words.append(line)
    return words


def variant_words(row):
    parts = [f"{row['blocks']} blocks a multiprocessor"]
    if row["members"]:
        parts.append(f"teams of {row['members']}")
    if row["band_pixels"]:
        parts.append(f"bands of {row['band_pixels']} pixels")
    return ", ".join(parts)


def plans(context):
    def check(context, seconds):
        problem = absent(context, "conv_plans")
        if problem:
            return problem
        configs = [context.installation.configs / name for name in NETWORKS[: 1 if context.quick else None]]
        result = context.run(
            "conv_plans",
            [context.installation.tool("conv_plans"), "--device", context.device, "--seconds", int(0.7 * seconds),
             *configs],
            seconds,
        )  # fmt: skip
        if result.returncode != 0:
            return Outcome(False, result.tail())
        try:
            rows, others, last = read_lines(result.stdout, "plan")
            context.report.records["plans"] = rows
            words = plan_words(rows)
            words += [f"no plan: {line['unplanned']}" for line in others if "unplanned" in line]
            described = next(line["device_properties"] for line in others if "device_properties" in line)
            context.report.keep_log("cudnn-device-properties", json.dumps(described, indent=2) + "\n")
            positive(described, "multiProcessorCount")
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
            return Outcome(False, f"what it wrote are no plans ({error!r})\n{result.tail()}")
        left = f"; {last['left']} convolutions were not reached" if last.get("left") else ""
        return Outcome(bool(rows), "\n".join([words[0] + left, *words[1:]]))

    yield Check("all plans of cuDNN", check, 150)


def plan_words(rows):
    """What to know of the plans: how many, and where another one than the chosen is faster."""
    graphs = {}
    for row in rows:
        graphs.setdefault((row["convolution"], row["bias"], row["relu"], row["pass"]), []).append(row)
    timed, slower = 0, []
    for (convolution, _, _, name), plans_of_it in graphs.items():
        times = {row["engine"]: positive(row, "us")[0] for row in plans_of_it if "refused" not in row}
        timed += len(times)
        chosen = [row["engine"] for row in plans_of_it if row.get("chosen")]
        if not chosen:
            raise ValueError(f"no plan of {name} of {convolution} is the chosen one")
        best = min(times, key=times.get)
        if times[chosen[0]] > FASTER * times[best]:
            slower.append(
                f"{name} of {convolution}: {chosen[0]} {times[chosen[0]]:.1f} us, {best} {times[best]:.1f} us"
            )
    head = f"{len(graphs)} passes, {len(rows)} plans, {timed} timed"
    return [f"{head}; {len(slower)} have a faster one than cuDNN's choice", *slower]
