#!/usr/bin/env python3
"""Draws the log of one or more runs of uform_base as a PNG: losses, terms, validation, schedule and pace over steps.

Usage: scripts/plot_run.py RUN.jsonl [MORE.jsonl ...] [--output RUN.png] [--smooth STEPS]

Needs matplotlib (Debian: python3-matplotlib). Lines that are no JSON, such as one a crash cut short, are left out.
"""
import argparse
import json
import pathlib
import sys

TERMS = {"terms": ("contrastive", "masked_text", "masked_image", "masked_video", "masked_audio", "late_interaction", "choices"),
         "regularizers": ("coding_rate", "lipschitz")}
PANELS = ("loss", *TERMS, "validation", "effective_rank", "gradient_norm", "learning_rate", "tokens_per_second")


def fail(message):
    sys.exit(f"plot_run: {message}")


def read_log(path):
    """Steps and validations by their step: where a resumed run repeats one, the last counts."""
    steps, validations = {}, {}
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        fail(f"{path}: cannot read it, {error.strerror}")
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        kind = event.get("event") if isinstance(event, dict) else None
        if kind in ("step", "validation") and isinstance(event.get("step"), int):
            (steps if kind == "step" else validations)[event["step"]] = event
    if not steps:
        fail(f"{path}: no step is in it; name what uform_base wrote for --log")
    return [steps[step] for step in sorted(steps)], [validations[step] for step in sorted(validations)]


def smoothed(values, width):
    """Means over the last `width` values, fewer at the start."""
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    return [(sums[i + 1] - sums[max(0, i + 1 - width)]) / min(width, i + 1) for i in range(len(values))]


def series(events, key):
    """Steps and values of those events that have a number for the key."""
    found = [(event["step"], event[key]) for event in events if isinstance(event.get(key), (int, float))]
    return [step for step, _ in found], [value for _, value in found]


def draw_run(panels, name, steps, validations, width):
    def line(panel, events, key, label, smooth):
        at, values = series(events, key)
        if not any(values):
            return
        drawn, = panels[panel].plot(at, smoothed(values, width) if smooth else values, label=label, linewidth=1.2)
        if smooth and width > 1:
            panels[panel].plot(at, values, color=drawn.get_color(), alpha=0.2, linewidth=0.6)

    line("loss", steps, "loss", name, True)
    for panel, terms in TERMS.items():
        for term in terms:
            line(panel, steps, term, f"{name} {term}", True)
    for key in ("effective_rank", "gradient_norm", "tokens_per_second"):
        line(key, steps, key, name, True)
    line("learning_rate", steps, "learning_rate", name, False)
    for key in ("recall@1", "recall@10", "mrr"):
        at = [event["step"] for event in validations if key in event.get("forward", {})]
        values = [event["forward"][key] for event in validations if key in event.get("forward", {})]
        if at:
            panels["validation"].plot(at, values, marker="o", markersize=3, label=f"{name} {key}")


def main():
    parser = argparse.ArgumentParser(description="Draws logs of uform_base as a PNG.")
    parser.add_argument("logs", nargs="+", metavar="RUN.jsonl")
    parser.add_argument("--output", help="the PNG; the first log's name with .png")
    parser.add_argument("--smooth", type=int, default=20, help="steps a line is the mean of; 20")
    arguments = parser.parse_args()
    if arguments.smooth < 1:
        parser.error("--smooth: must be at least 1")
    runs = [(pathlib.Path(path).stem, *read_log(path)) for path in arguments.logs]
    try:
        import matplotlib
    except ImportError:
        fail(f"matplotlib is missing for {sys.executable}; install it with: apt-get install python3-matplotlib, or in "
             "another Python with: pip install matplotlib")
    matplotlib.use("Agg")  # no display is needed
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(PANELS), 1, sharex=True, figsize=(10, 2.4 * len(PANELS)), layout="constrained")
    panels = dict(zip(PANELS, axes))
    for run in runs:
        draw_run(panels, *run, arguments.smooth)
    for name, panel in panels.items():
        panel.set_title(name.replace("_", " "), loc="left", fontsize=10)
        panel.grid(alpha=0.3)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize=8)
    axes[-1].set_xlabel("step")
    output = arguments.output or str(pathlib.Path(arguments.logs[0]).with_suffix(".png"))
    try:
        figure.savefig(output, dpi=120, format="png")
    except OSError as error:
        fail(f"{output}: cannot write it, {error.strerror}")


if __name__ == "__main__":
    main()
