"""Every row of test/conformance that Python can say, replayed: trainers before their first step, saves, resumes; meshes."""

import pytest

import uform
from conformance import CONTRASTIVE, JOINT, MASKED, MAX, Replay, init

WRONG = (float("nan"), float("inf"), float("-inf"), -1.0)


def floats(replay, name, objective, wrong=(), **beside):
    """A field of floats that must lie in a range: NaN, infinity and what is below zero never do."""
    record, field = name.split(".")
    for value in (*wrong, *WRONG):
        replay.row(name, init, objective=objective, **{record: {field: value} | beside})


def test_sizes():
    with Replay("trainer_init.refusals_of_handles_and_sizes") as replay:
        replay.row("no blocks", init, depth=0)
        replay.row("endless blocks", init, depth=1025)
        replay.row("no width", init, hidden=0)
        replay.row("half a width", init, hidden=64)
        replay.row("an odd width", init, hidden=192)
        replay.row("an endless width", init, hidden=MAX // 128 * 128)
        replay.row("an objective below", init, objective=-1)
        replay.row("an objective beyond", init, objective=3)
        for what, field, value in [("no rows", "max_rows_per_device", 0), ("no items", "max_segments_per_device", 0),
                                   ("no tokens", "max_columns_per_row", 0),
                                   ("endless tokens", "max_columns_per_row", 65537)]:
            replay.row(what, init, batch={field: value})
        replay.row("no steps", init, schedule=dict(steps=0))
        replay.row("a climb longer than the run", init, schedule=dict(warmup_steps=21))
        replay.row("a floor above the top", init, schedule=dict(learning_rate=1e-3, min_learning_rate=2e-3))


def test_media():
    image, video, audio = uform.ImageShape, uform.VideoShape, uform.AudioShape
    with Replay("trainer_init.refusals_of_media") as replay:
        for objective in (JOINT, CONTRASTIVE):
            for what, shape in [
                    ("a patch too large", image(65)), ("an endless patch", image(1 << 32)), ("two channels", image(16, 2)),
                    ("five channels", image(16, 5)), ("a tube too wide", video(65)), ("a tube too long", video(16, 65)),
                    ("an endless stride", video(16, 0, MAX)), ("frames of four channels", video(16, 0, 0, 4)),
                    ("an endless chunk", audio(MAX)), ("a rate too slow", audio(320, 999)),
                    ("a rate too fast", audio(320, 768_001))]:
                medium = {image: "image", video: "video", audio: "audio"}[type(shape)]
                replay.row(what, init, objective=objective, batch={medium: shape})


def test_choices_of_a_run():
    with Replay("trainer_init.refusals_of_choices") as replay:
        for objective in (MASKED, CONTRASTIVE):
            for what, room, choices in [
                    ("no room for a choice", 0, dict(weight=1)), ("a weight below zero", 4, dict(weight=-1)),
                    ("a weight that is NaN", 4, dict(weight=WRONG[0])),
                    ("a Brier weight below zero", 4, dict(weight=1, brier_weight=-1)),
                    ("a Brier weight without end", 4, dict(weight=1, brier_weight=WRONG[1])),
                    ("endless groups", 4, dict(weight=1, temperature_groups=65537))]:
                replay.row(what, init, objective=objective, batch=dict(max_choices_per_item=room), choices=choices)


def test_paths_and_prefixes(tmp_path):
    (tmp_path / "text").write_text("this is no checkpoint")
    missing = tmp_path / "missing"
    with Replay("trainer_init.refusals_of_paths_and_prefixes") as replay:
        for field in ("resume", "initial"):
            for what, path in [("a NUL inside", "a\0b"), ("a missing file", missing), ("a folder", tmp_path),
                               ("no checkpoint", tmp_path / "text")]:
                replay.row(what, init, **{field: path})
        replay.row("both", init, resume=missing, initial=missing)
        replay.row("a row and no text", init, query_prefix="q" * 32)
        replay.row("a row and no text", init, document_prefix=b"q" * 32)


def test_schedule():
    with Replay("trainer_init.refusals_of_the_schedule") as replay:
        floats(replay, "schedule.learning_rate", MASKED)
        floats(replay, "schedule.min_learning_rate", MASKED, [1.0])


def test_contrastive_fields():
    with Replay("trainer_init.refusals_of_contrastive_fields") as replay:
        for objective in (CONTRASTIVE, JOINT):
            def ask(what, record="contrastive", **fields):
                replay.row(what, init, objective=objective, **{record: fields})

            for what, widths in [("widths that descend", (64, 32)), ("a width twice", (64, 64)), ("an odd width", (60,)),
                                 ("no width", (0,)), ("more than the model's", (136,)),
                                 ("nine widths", range(8, 73, 8))]:
                ask(what, matryoshka_dimensions=tuple(widths))
            for value in (-1, 5):
                ask("no form", pair_loss=value)
            for value in (-1, 2):
                ask("no negatives", negatives=value)
            ask("endless groups", temperature_groups=65537)
            for value in WRONG[:3]:
                ask("bias", bias=value)
            floats(replay, "contrastive.inverse_temperature", objective, [100.5])
            floats(replay, "contrastive.ambient_repulsion_weight", objective)
            for field in ("coding_rate_weight", "coding_rate_epsilon_squared", "lipschitz_weight"):
                floats(replay, f"regularizers.{field}", objective)
            ask("endless iterations", "regularizers", lipschitz_iterations=65)


def test_masking_fields():
    with Replay("trainer_init.refusals_of_masking_fields") as replay:
        for objective in (MASKED, JOINT):
            floats(replay, "masking.token_mask_probability", objective, [1.5])
            floats(replay, "masking.token_mean_span", objective, [0.5])
            floats(replay, "masking.replace_fraction", objective, [1.5, 1.0])
            replay.row("random", init, objective=objective, masking=dict(random_fraction=0.25))
            for medium in ("image", "video", "audio"):
                floats(replay, f"masking.{medium}_mask_ratio", objective, [1.5])
            for medium in ("text", "image", "video", "audio"):
                floats(replay, f"masking.{medium}_weight", objective)


def test_late_interaction_fields():
    with Replay("trainer_init.refusals_of_late_interaction_fields") as replay:
        for objective in (CONTRASTIVE, JOINT):
            def ask(field, value, what=None):
                fields = dict(weight=1) | {field: value}
                replay.row(what or f"late_interaction.{field}", init, objective=objective, late_interaction=fields)

            for field, values in [("weight", (*WRONG[:2], -1)), ("inverse_temperature", (*WRONG[:2], -1, 100.5)),
                                  ("bias", WRONG[:2]), ("pair_loss", (-1, 5)), ("width", (12,))]:
                for value in values:
                    ask(field, value)
            ask("width", MAX // 8 * 8, "size")
            ask("prefix_tokens", 32)
        replay.row("a masked run", init, objective=MASKED, late_interaction=dict(weight=1))


def test_saves(tmp_path, executor):
    trainer, taken = init(), tmp_path / "taken"
    (taken / "full").mkdir(parents=True)
    with Replay("trainer_save.refusals") as replay:
        replay.row("another executor", trainer.on(executor).save, tmp_path / "run.safetensors")
        replay.row("no path", trainer.save, "")
        replay.row("a NUL inside", trainer.save, "a\0b")
        replay.row("longer than paths are", trainer.save, "p" * 5000)
        replay.row("no such folder", trainer.save, tmp_path / "no" / "such" / "run.safetensors")
        replay.row("over a folder", trainer.save, taken)
    assert list(tmp_path.iterdir()) == [taken], "failures leave nothing behind"


WHOLE = dict(objective=JOINT, batch=dict(max_choices_per_item=4), choices=dict(weight=1),
             late_interaction=dict(weight=1), contrastive=dict(matryoshka_dimensions=(64, 128)),
             regularizers=dict(coding_rate_weight=0.02, lipschitz_weight=0.01))
OF_MEDIA = dict(objective=JOINT, batch=dict(image=uform.ImageShape(8, 3), video=uform.VideoShape(4),
                                            audio=uform.AudioShape(40)))


@pytest.mark.parametrize("test, run", [("trainer_resume.refuses_another_run", WHOLE),
                                       ("trainer_resume.takes_what_is_no_part_of_a_run", WHOLE),
                                       ("trainer_images.runs_save_and_resume_their_entries", OF_MEDIA)])
def test_resumes(tmp_path, test, run):
    path = tmp_path / "run.safetensors"
    init(**run).save(path)
    with Replay(test) as replay:
        while replay.left:
            what = replay.left[0].what
            changes = NO_PART.get(what) or changed(what)
            words = {name: run.get(name, {}) | value if isinstance(value, dict) else value
                     for name, value in changes.items()}
            replay.row(what, init, **(run | words), resume=path)


NAMES = {"joint": JOINT, "contrastive": CONTRASTIVE, "softmax": uform.PairLossForm.SOFTMAX,
         "balanced": uform.PairLossForm.BALANCED, "named": uform.Negatives.NAMED, "64": (64,), "128": None}
MEDIA = {"image": uform.ImageShape(8, 3), "video": uform.VideoShape(4), "audio": uform.AudioShape(40)}
UNTOLD = {"schedule.learning_rate": 1e-3, "schedule.min_learning_rate": 2e-5, "masking.token_mask_probability": 0.25,
          "masking.replace_fraction": 0.5, "masking.random_fraction": 0.125, "regularizers.coding_rate_weight": 0.0,
          "regularizers.lipschitz_weight": 1.0}


def changed(what):
    """The words that "field: saved this, asked that" asks with, in fields the run shares with its record."""
    field, told = what.split(": saved ")
    asked = UNTOLD.get(field, told.rpartition("asked ")[2])
    if field == "context":
        return dict(batch=dict(max_columns_per_row=int(asked)))
    if "." not in field:
        return {field: NAMES.get(asked) if asked in NAMES else int(asked)}
    record, name = field.split(".")
    if record in MEDIA:
        shape = {key: getattr(MEDIA[record], key) for key in MEDIA_FIELDS[record]}
        shape = {} if name in ("patch_side", "chunk_samples") and asked == "0" else shape | {name: int(asked)}
        return dict(batch={record: type(MEDIA[record])(**shape)})
    if isinstance(asked, str):
        named = name in ("pair_loss", "negatives", "matryoshka_dimensions")
        asked = NAMES[asked] if named else float(asked) if "." in asked or record == "masking" else int(asked)
    return {record: {name: asked}}


MEDIA_FIELDS = {"image": ["patch_side", "channels"], "video": ["patch_side", "tube_frames", "frame_stride"],
                "audio": ["chunk_samples", "sample_rate"]}
NO_PART = {
    "nothing": dict(seed=7), "room": dict(batch=dict(max_rows_per_device=5, max_segments_per_device=5)),
    "bags": dict(batch=dict(max_bags_per_device=5)), "choices": dict(batch=dict(max_choices_per_item=5)),
    "edges": dict(contrastive=dict(max_edges_per_device=50)),
    "documents": dict(late_interaction=dict(max_documents_per_device=5)),
    "temperature": dict(contrastive=dict(inverse_temperature=5)),
    "bias": dict(contrastive=dict(bias=-1), late_interaction=dict(bias=-1)),
    "the same widths elsewhere": dict(contrastive=dict(matryoshka_dimensions=[64, 128])),
    "defaults by name": dict(
        contrastive=dict(pair_loss=uform.PairLossForm.SIGMOID),
        late_interaction=dict(pair_loss=uform.PairLossForm.RANKED, width=128),
        regularizers=dict(coding_rate_epsilon_squared=0.5, lipschitz_iterations=4),
        masking=dict(token_mean_span=16), schedule=dict(warmup_steps=2))}


def test_meshes():
    def join(progress=None, **words):
        return uform.Mesh.bootstrap(None, uform.MeshOptions(**words), progress=progress)

    with Replay("meshes.refusals") as replay:
        replay.row("options.host_domain_index", join, host_domain_index=1)
        replay.row("options.host_domain_index", join, host_domain_index=2, host_domain_count=2)
        replay.row("options.host_domain_count", join, host_domain_count=MAX)
        replay.row("options.directory", join, host_domain_count=2)
        replay.row("options.directory", join, directory="a\0b")
        for job in (b"\xff", "a\nb", "x" * 129):
            replay.row("options.job", join, job=job)
        replay.row("progress", join, progress=lambda completed, total: False)
