"""Every row of test/conformance that Python can say, replayed: the steps of trainers."""

import numpy as np

import uform
from conformance import JOINT, Replay, init
from media_files import clip, picture, png, tone, wav

TEXTS = ["zwei", "two", "Hund", "dog"]
OFFSETS, IDS, WEIGHTS = [0, 1, 2, 3, 4], [1, 0, 3, 2], [1, 1, 0.5, 0.5]
NAN, INFINITY = float("nan"), float("inf")


def step(trainer, modalities=None, texts=TEXTS, attract=(OFFSETS, IDS, WEIGHTS), repel=None, ignore=None, **words):
    relations = uform.Relations(attract=attract, repel=repel, ignore=ignore)
    return trainer.step(modalities, texts, relations=relations, **words)


def test_items(executor, arena):
    trainer = init()
    stats = uform.TrainerStepStats()
    with Replay("trainer_step.refusals_of_items") as replay:
        def ask(what, *arguments, **words):
            replay.row(what, step, trainer, *arguments, **words)

        marks = np.array([0, 4, 3, 5, 6], np.uint64)
        replay.row("another executor", step, trainer.on(executor))
        ask("no items", texts=[], attract=None)
        ask("no offsets", texts=(b"zweitwoHunddog", marks[:0]))
        ask("offsets that decrease", texts=(b"zweitwoHunddog", marks))
        ask("no data", texts=(b"", np.array([0, 4, 7, 11, 14], np.uint64)))
        ask("more items than fit", texts=["x"] * 7, attract=None)
        ask("an image", [0, 0, uform.Modality.IMAGE, 0])
        ask("no modality", [-1, 0, 0, 0])
        ask("a group beyond", temperature_groups=[0, 1, 0, 0])
        ask("choices", choices=["y", "n", "y", "n"])
        ask("targets", choice_targets=(np.ones(4, np.float32), np.arange(5, dtype=np.uint64)))
        ask("embeddings and no arena", token_vectors=True)
        ask("vectors without a token head", token_vectors=True, arena=arena)
        ask("landing as no output does", arena=arena, outputs_scalar=uform.Scalar.U8)
        ask("landing as nothing", arena=arena, outputs_scalar=-1)
    step(trainer, stats=stats)
    assert stats.step == 1, "what is refused counts no step"


def test_sides():
    trainer = init(late_interaction=dict(weight=0.5, prefix_tokens=3))
    with Replay("trainer_step.sides") as replay:
        replay.row("a side below", step, trainer, sides=[1, 2, -1, 2])
        replay.row("a side beyond", step, trainer, sides=[1, 2, 1, 4])
        replay.row("a query of the prefix alone", step, trainer, sides=[1, 2, 1, 1])
    step(trainer, sides=[1, 2, 1, 2])


def test_relations():
    trainer, two = init(), [0, 2, 2, 2, 2]
    with Replay("trainer_step.refusals_of_relations") as replay:
        for name in ("attract", "repel", "ignore"):
            cases = [("offsets that decrease", [0, 1, 0, 3, 4], IDS, None), ("no ids", OFFSETS, [], None),
                     ("an id beyond", OFFSETS, [1, 0, 4, 2], None), ("ids that descend", two, [2, 1], None),
                     ("an id twice", two, [1, 1], None)]
            if name != "ignore":
                cases += [("a weight that is NaN", OFFSETS, IDS, [1, NAN, 1, 1]),
                          ("a weight below zero", OFFSETS, IDS, [1, 1, 1, -1]),
                          ("a weight without end", OFFSETS, IDS, [INFINITY, 1, 1, 1])]
            for what, *edges in cases:
                replay.row(what, step, trainer, **{name: tuple(edges)})
        replay.row("no attract", step, trainer, attract=None)
        replay.row("attract without an edge", step, trainer, attract=([2] * 5, IDS, WEIGHTS))
    step(trainer)


def test_choices():
    trainer = init(objective=JOINT, choices=dict(weight=1, temperature_groups=2), batch=dict(max_choices_per_item=4),
                   contrastive=dict(temperature_groups=3))
    right, marks = b"ynabcd", [0, 2, 2, 2, 6]
    values = [0.75, 0.25, 0, 0, 0.5, 0.5]
    with Replay("trainer_step.refusals_of_choices") as replay:
        def ask(what, data=right, offsets=marks, targets=values, ends=marks, **words):
            legal = (data, np.array(offsets, np.uint64)) if data is not None else None
            wanted = (np.array(targets, np.float32), np.array(ends, np.uint64)) if targets is not None else None
            replay.row(what, step, trainer, choices=legal, choice_targets=wanted, **words)

        ask("targets alone", data=None)
        ask("choices alone", targets=None)
        ask("choices that decrease", offsets=[0, 4, 3, 5, 6])
        ask("targets that decrease", ends=[0, 4, 3, 5, 6])
        ask("choices without data", data=b"")
        ask("targets without data", targets=[])
        ask("a target for what is not legal", ends=[0, 1, 2, 2, 6])
        ask("a choice without a target", ends=[0, 2, 2, 2, 5])
        ask("a choice twice", data=b"ynabca")
        five = [0, 2, 2, 2, 7]
        ask("more choices than fit", data=b"ynabcde", offsets=five, targets=[*values, 0], ends=five)
        for what, targets in [("a target that is NaN", [0.75, 0.25, NAN, 0, 0.5, 0.5]),
                              ("a target below zero", [1.25, -0.25, 0, 0, 0.5, 0.5]),
                              ("a target without end", [0.75, 0.25, 0, 0, INFINITY, 0]),
                              ("a sum below one", [0.75, 0.245, 0, 0, 0.5, 0.5]),
                              ("a sum above one", [0.75, 0.25, 0, 0.005, 0.5, 0.5]), ("a sum of zero", [0] * 6)]:
            ask(what, targets=targets)
        ask("a question's group beyond", temperature_groups=[1, 2, 2, 2])


def test_pictures():
    trainer = init(objective=JOINT, choices=dict(weight=1), late_interaction=dict(weight=0.5, prefix_tokens=1),
                   batch=dict(max_choices_per_item=4, image=uform.ImageShape(8)))
    image, captioned = png(picture(1, 4)), [1, 0, 1, 0]
    with Replay("trainer_images.refusals") as replay:
        def ask(what, modalities=captioned, second=image, **words):
            replay.row(what, step, trainer, modalities, [image, "four pixels", second, "grey"], **words)

        ask("a clip that the run leaves out", [1, 0, uform.Modality.VIDEO, 0])
        ask("a recording likewise", [uform.Modality.AUDIO, 0, 1, 0])
        ask("no modality", [1, 4, 1, 0])
        ask("a text for a picture", second=b"<html>404</html>")
        ask("a picture cut short", second=image[:20])
        ask("a picture of no bytes", second=b"")
        ask("few pixels", limits=uform.Limits(max_pixels=3))
        ask("few bytes", limits=uform.Limits(max_file_bytes=len(image) - 1))
        halves = (np.full(2, 0.5, np.float32), np.array([0, 0, 0, 2, 2], np.uint64))
        ask("a question about a picture", choices=["", "", "yn", ""], choice_targets=halves)
        ask("a picture of the prefix alone that asks", sides=[2, 1, 1, 2])


def test_clips_and_recordings():
    trainer = init(objective=JOINT, batch=dict(video=uform.VideoShape(64), audio=uform.AudioShape(320)))
    video, sound, heard = clip("h264_one.mp4"), wav(tone(1000)), [2, 0, 3, 0]
    with Replay("trainer_media.refusals") as replay:
        def ask(what, first=video, third=sound, modalities=heard, **words):
            replay.row(what, step, trainer, modalities, [first, "one frame", third, "hum"], **words)

        ask("a page for a clip", first=b"<html>404</html>")
        ask("a page for a recording", third=b"<html>404</html>")
        ask("no bytes", third=b"")
        ask("few bytes", limits=uform.Limits(max_file_bytes=20))
        ask("a picture, which the run leaves out", modalities=[2, 0, 1, 0])
