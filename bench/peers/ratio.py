"""Puts a `wellspring bench train --json` result beside those of torch_cnn_step.py and jax_cnn_step.py; see compare.

    python bench/peers/ratio.py PREFIX      reads PREFIX-wellspring.json, -pytorch.json and -jax.json, writes PREFIX.json
"""

import json
import sys


def main():
    prefix = sys.argv[1]

    def read(name):
        with open(f"{prefix}-{name}.json") as file:
            return json.load(file)

    ours, torch, jax = read("wellspring"), read("pytorch"), read("jax")
    torch_rate = torch["resident"]["images_per_second"]
    row = ours["rows"][0]
    resident, generating = row["ceiling"]["rate"], row["rate"]
    peers = {
        "pytorch": {
            "version": torch["version"],
            "threads": torch["resident"]["threads"],
            "images_per_second_resident": torch_rate,
        },
        "jax": {
            "version": jax["version"],
            "images_per_second_resident": jax["resident"]["images_per_second"],
            "images_per_second_generating": jax["generating"]["images_per_second"],
        },
    }
    lines = [
        (f"PyTorch {torch['version']}, resident batch", torch_rate, resident),
        (f"JAX {jax['version']}, resident batch", jax["resident"]["images_per_second"], resident),
        (f"JAX {jax['version']}, drawing each batch", jax["generating"]["images_per_second"], generating),
    ]
    print(f"Wellspring: {resident:.0f} images/s on a resident batch, {generating:.0f} drawing each batch")
    for what, rate, own in lines:
        print(f"{what:<40} {rate:8.0f} images/s, Wellspring {own / rate:5.2f} times as many")
    result = {
        "machine": ours["machine"],
        "wellspring": {
            "version": ours["version"],
            "images_per_second_resident": resident,
            "images_per_second_generating": generating,
        },
        **peers,
        "ratios": {what: own / rate for what, rate, own in lines},
    }
    with open(f"{prefix}.json", "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
