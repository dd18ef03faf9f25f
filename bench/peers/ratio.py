"""Compares a `wellspring bench train --json` result with the results of torch_step.py and jax_step.py; see compare.

    python bench/peers/ratio.py PREFIX      reads PREFIX-wellspring.json, -pytorch.json, -pytorch-resnet18.json and
                                            -jax.json, writes PREFIX.json
"""

import json
import sys


def main():
    prefix = sys.argv[1]

    def read(name):
        with open(f"{prefix}-{name}.json") as file:
            return json.load(file)

    ours = read("wellspring")
    rows = {row["name"].split(" 32x32")[0]: row for row in ours["rows"]}

    def peer(network, name, way="resident"):
        """The peer's rate and ours for the same task: a resident batch, or a newly drawn one."""
        row, seen = rows[network], read(name)
        rate = seen[way]["images_per_second"]
        own = row["rate"] if way == "generating" else row["ceiling"]["rate"]
        return {"network": network, "peer": seen["peer"], "version": seen["version"], "batch": way,
                "images_per_second": rate, "wellspring_images_per_second": own, "ratio": own / rate}  # fmt: skip

    peers = [
        peer("three convolutions", "pytorch"),
        peer("resnet18", "pytorch-resnet18"),
        peer("three convolutions", "jax"),
        peer("three convolutions", "jax", "generating"),
    ]
    for seen in peers:
        print(f"{seen['network']:<20} {seen['batch']:<12} {seen['peer']} {seen['version']}: "
              f"{seen['images_per_second']:8.0f} images/s, Wellspring {seen['wellspring_images_per_second']:8.0f}, "
              f"{seen['ratio']:5.2f} times as many")  # fmt: skip
    result = {"machine": ours["machine"], "version": ours["version"], "commit": ours["commit"],
              "rows": ours["rows"], "peers": peers}  # fmt: skip
    with open(f"{prefix}.json", "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
