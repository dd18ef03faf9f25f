"""What the programs of bench/gpu measure: the cost of starting kernels, and all plans of cuDNN."""

import json

from gpu_check.lines import positive, read_lines
from gpu_check.running import Check, Outcome

# Networks with convolutions, the most telling first.
NETWORKS = ("quickstart.yaml", "cifar10_scratch.yaml", "cifar10_transfer.yaml", "ginkgo_images.yaml", "pde.yaml")
# By how much another plan must be faster to be named.
FASTER = 1.05


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
