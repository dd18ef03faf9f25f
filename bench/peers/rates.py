"""Rates of the turns, and reasons of failures. Used by the scripts that measure."""

import statistics


def summary(rates):
    return {"images_per_second": round(statistics.median(rates), 1), "lowest": round(min(rates), 1),
            "highest": round(max(rates), 1)}  # fmt: skip


def ratio(ours, theirs):
    """The median over the turns."""
    return round(statistics.median(a / b for a, b in zip(ours, theirs)), 2)


def reason(error):
    """The first line of an exception."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
