"""Puts a `wellspring bench train --json` result beside one of torch_cnn_step.py; see compare."""

import json
import sys


def main() -> int:
    ours_path, theirs_path, out_path = sys.argv[1:]
    with open(ours_path) as file:
        ours = json.load(file)
    with open(theirs_path) as file:
        theirs = json.load(file)
    row = ours["rows"][0]
    peer = theirs["images_per_second"]
    result = {
        "machine": ours["machine"],
        "wellspring": {
            "version": ours["version"],
            "images_per_second_resident": row["ceiling"]["rate"],
            "images_per_second_generating": row["rate"],
        },
        "pytorch": {
            "version": theirs["version"],
            "threads": theirs["best"]["threads"],
            "images_per_second_resident": peer,
        },
        "ratio_resident": row["ceiling"]["rate"] / peer,
        "ratio_generating": row["rate"] / peer,
    }
    with open(out_path, "w") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    lines = [
        (f"PyTorch {theirs['version']}, resident batch", peer, 1.0),
        ("Wellspring, resident batch", row["ceiling"]["rate"], result["ratio_resident"]),
        ("Wellspring, generating each batch", row["rate"], result["ratio_generating"]),
    ]
    for what, rate, ratio in lines:
        print(f"{what:<40} {rate:8.0f} images/s  {ratio:5.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
