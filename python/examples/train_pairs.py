"""Trains a small encoder on pairs of lines that mean the same, tab between them, and saves it.

    python train_pairs.py pairs.tsv model.safetensors --steps 200
"""

import argparse
import pathlib

import numpy as np

import uform


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=32, help="pairs of a step")
    options = parser.parse_args()

    pairs = [line.split("\t") for line in options.pairs.read_text(encoding="utf-8").splitlines()]
    items = 2 * options.batch
    with uform.Executor.for_ram() as executor:
        trainer = uform.Trainer.init_ram(
            executor,
            depth=2,
            hidden=128,
            objective=uform.Objective.CONTRASTIVE,
            batch=uform.BatchShape(
                max_rows_per_device=items, max_segments_per_device=items, max_columns_per_row=128
            ),
            contrastive=uform.Contrastive(pair_loss=uform.PairLossForm.SOFTMAX, inverse_temperature=10.0),
            schedule=uform.Schedule(steps=options.steps),
            seed=1,
        )
        # Items 2i and 2i + 1 are a pair: each attracts the other, and repels all the rest.
        attract = uform.Edges(np.arange(items + 1, dtype=np.uint64), np.arange(items, dtype=np.uint32) ^ 1)
        stats = uform.TrainerStepStats()
        numbers = np.random.default_rng(1)
        for step in range(options.steps):
            drawn = numbers.choice(len(pairs), options.batch, replace=len(pairs) < options.batch)
            texts = [text for index in drawn for text in pairs[index]]
            trainer.step(None, texts, relations=uform.Relations(attract=attract), stats=stats)
            if step % 50 == 0 or step + 1 == options.steps:
                print(f"step {stats.step}: loss {stats.loss:.4f}")
        trainer.save(options.model)


if __name__ == "__main__":
    main()
