"""Merges the JSON of several runs of the benchmarks into medians: prints the table of bench/run.sh, writes its JSON."""
import argparse
import json
import pathlib
import statistics

# What this project asks of itself, as shares of the peak.
LEAST = {
    "encode_items_64": 0.80,
    "encode_items_256": 0.80,
    "encode_item_4096": 0.75,
    "encode_rows_items_64": 0.80,
    "encode_one_64": 0.68,
    "train_items_256": 0.50,
}

# What is asked as a ratio to the line's rival, and what that is.
LEAST_RATIO = {"encode_e4m3_items_256": (0.90, "bf16"), "train_kept_items_256": (1.50, "the best peer"),
               "train_kept_256_pairs_of_128": (1.50, "the best peer")}


def least_of(work, shape):
    if work == "product":
        return 0.85 if shape.startswith("64 x") else 0.88
    return 0.80 if work.endswith(("_skylake", "_haswell")) else LEAST.get(work)


def lines_of(path):
    """One run of one program: bench_attention reports kernels of one thread, the others walls of teams."""
    program, *middle, _ = path.name.removesuffix(".json").split(".")
    report = json.loads(path.read_text())
    if isinstance(report, dict):
        lines = [
            {
                "work": line["work"].split()[0],
                "shape": line["work"].partition(" ")[2],
                "threads": report["threads"],
                "seconds": line["seconds"],
                "share_of_peak": line["share"],
                "peak": report["peak"],
                "peers": {},
            }
            for line in report["lines"]
            if "flops" in line
        ]
    else:
        lines = report
    for line in lines:
        line["work"] = "_".join([line["work"], *middle])  # a class that is not the machine's best
    return lines


def merge(paths):
    """Lines of the same work, as medians, in the order of the first run."""
    groups = {}
    for path in paths:
        for line in lines_of(path):
            groups.setdefault((line["work"], line["shape"], line["threads"]), []).append(line)
    merged = []
    for (work, shape, threads), lines in groups.items():
        median = {key: statistics.median(line[key] for line in lines) for key in ("seconds", "share_of_peak", "peak")}
        names = dict.fromkeys(name for line in lines for name in line["peers"])
        peers = {name: statistics.median(line["peers"][name] for line in lines if name in line["peers"]) for name in names}
        # In one run both had the same machine, so ratios are taken there.
        ratios = [line["share_of_peak"] / max(line["peers"].values()) for line in lines if line["peers"]]
        merged.append(
            {"work": work, "shape": shape, "threads": threads, **median, "peers": peers, "runs": len(lines)}
            | ({"ratio": statistics.median(ratios)} if ratios else {})
        )
    return merged


def demand_of(line):
    """The least that is asked of a line, and whether it is missed."""
    if line["work"] in LEAST_RATIO and "ratio" in line:
        least, rival = LEAST_RATIO[line["work"]]
        return "%.2f x %s%s" % (least, rival, "" if line["ratio"] >= least else ", below")
    least = least_of(line["work"], line["shape"])
    if least is None:
        return ""
    return "%.0f %%%s" % (100 * least, "" if line["share_of_peak"] >= least else ", below")


def print_table(merged):
    head = ("work", "shape", "threads", "peak GFLOP/s", "ms", "ours", "at least", "peers", "ours / best peer")
    rows = [head]
    for line in merged:
        peers = ", ".join("%s %.1f %%" % (name, 100 * share) for name, share in line["peers"].items())
        rows.append(
            (
                line["work"],
                line["shape"],
                str(line["threads"]),
                "%.0f" % (line["peak"] * 1e-9),
                "%.3f" % (line["seconds"] * 1e3),
                "%.1f %%" % (100 * line["share_of_peak"]),
                demand_of(line),
                peers or "none",
                "%.2f" % line["ratio"] if "ratio" in line else "",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("runs", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    order = ["product", "attention", "encode", "train"]
    paths = sorted(arguments.runs, key=lambda path: (path.name.count("."), order.index(path.name.split(".")[0]), path.name))
    merged = merge(paths)
    print_table(merged)
    if arguments.json:
        arguments.json.write_text("[\n" + ",\n".join(json.dumps(line) for line in merged) + "\n]\n")


if __name__ == "__main__":
    main()
