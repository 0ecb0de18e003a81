"""Trains a small encoder on pictures and what they show, saves it, and answers each caption with the nearest picture.

    python train_captions.py captions.tsv model.safetensors --steps 100

Each line of captions.tsv is the path of a JPEG, PNG or WebP, relative to the file, a tab, and a caption.
"""

import argparse
import pathlib

import numpy as np

import uform
from uform.search import top_k


def train(files: list[bytes], captions: list[str], options: argparse.Namespace, executor: uform.Executor) -> None:
    pairs = min(options.batch, len(files))
    trainer = uform.Trainer.init_ram(
        executor,
        depth=2,
        hidden=128,
        objective=uform.Objective.CONTRASTIVE,
        batch=uform.BatchShape(
            max_rows_per_device=2 * pairs,
            max_segments_per_device=2 * pairs,
            max_columns_per_row=128,
            image=uform.ImageShape(patch_side=16),
        ),
        contrastive=uform.Contrastive(pair_loss=uform.PairLossForm.SOFTMAX, inverse_temperature=10.0),
        schedule=uform.Schedule(steps=options.steps),
        seed=1,
    )
    # Items 2i and 2i + 1 are a picture and its caption: each attracts the other, and repels all the rest.
    attract = uform.Edges(np.arange(2 * pairs + 1, dtype=np.uint64), np.arange(2 * pairs, dtype=np.uint32) ^ 1)
    modalities = [uform.Modality.IMAGE, uform.Modality.TEXT] * pairs
    stats = uform.TrainerStepStats()
    numbers = np.random.default_rng(1)
    for step in range(options.steps):
        drawn = numbers.choice(len(files), pairs, replace=False)
        contents = [content for index in drawn for content in (files[index], captions[index])]
        trainer.step(modalities, contents, relations=uform.Relations(attract=attract), stats=stats)
        if step % 50 == 0 or step + 1 == options.steps:
            print(f"step {stats.step}: loss {stats.loss:.4f}")
    trainer.save(options.model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=16, help="pairs of a step")
    options = parser.parse_args()

    lines = [line.split("\t") for line in options.captions.read_text(encoding="utf-8").splitlines()]
    names, captions = [name for name, _ in lines], [caption for _, caption in lines]
    files = [(options.captions.parent / name).read_bytes() for name in names]
    with uform.Executor.for_ram() as executor:
        try:
            train(files, captions, options, executor)
        except uform.Error as error:  # of a picture that is damaged, say: items alternate with their captions
            raise SystemExit(f"{options.captions}: {error}") from error
        model, arena = uform.Model.load_ram(options.model).on(executor), uform.Arena(executor)
        pictures = np.array(model.image_encode(files, arena).embeddings)
        positions, scores = top_k(np.array(model.text_encode(captions, arena).embeddings), pictures, 1)
    for caption, position, score in zip(captions, positions[:, 0], scores[:, 0]):
        print(f"{score:.3f}  {names[position]}  {caption}")


if __name__ == "__main__":
    main()
