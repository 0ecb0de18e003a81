"""Trainers and meshes: options, steps, outputs, saves, resumes, refusals."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import uform
from conftest import engine_only, make_trainer

PAIRS = ["one", "eins", "two", "zwei", "three", "drei"]


def edges(count):
    """Item i with its neighbour, two by two."""
    return uform.Edges(np.arange(count + 1, dtype=np.uint64), np.array([i ^ 1 for i in range(count)], np.uint32))


def step(trainer, texts=PAIRS, **words):
    options = dict(relations=uform.Relations(attract=edges(len(texts)))) | words
    return trainer.step(None, texts, **options)


@pytest.fixture
def trainer():
    return make_trainer(late_interaction=None, choices=None)


def test_a_step_counts_and_lands_where_asked(trainer, arena):
    stats = uform.TrainerStepStats()
    assert step(trainer, stats=stats) is None
    assert stats.step == 1 and stats.tokens == sum(map(len, PAIRS)) and stats.learning_rate > 0
    embeddings = step(trainer, arena=arena, stats=stats)
    assert stats.step == 2 and np.asarray(embeddings).shape == (6, 128)
    assert np.allclose((np.asarray(embeddings) ** 2).sum(1), 1, atol=128 * 2.0**-23)
    with pytest.raises(uform.ContendedError):
        kept = memoryview(embeddings)
        step(trainer, arena=arena)


@engine_only
def test_steps_learn(trainer):
    stats, losses = uform.TrainerStepStats(), []
    for _ in range(10):
        step(trainer, stats=stats)
        losses.append(stats.loss)
    assert losses[-1] < losses[0] and stats.gradient_norm > 0 and stats.effective_rank > 0


def test_every_argument_at_once(arena):
    trainer = make_trainer()
    sides = [uform.LateInteractionSide.QUERY, uform.LateInteractionSide.DOCUMENT] * 3
    offsets = np.arange(7, dtype=np.uint64) * 2
    embeddings, vectors = trainer.step(
        [uform.Modality.TEXT] * 6, PAIRS, bags=np.arange(6, dtype=np.uint32), temperature_groups=[0] * 6, sides=sides,
        choices=["yn"] * 6, choice_targets=(np.full(12, 0.5, np.float32), offsets),
        relations=uform.Relations(attract=(*edges(6)[:2], np.full(6, 0.5, np.float32)), repel=None,
                                  ignore=(np.zeros(7, np.uint64), np.zeros(0, np.uint32))),
        limits=uform.Limits(max_pixels=100), arena=arena, token_vectors=True)
    assert embeddings.shape == (6, 128) and vectors.shape == (sum(map(len, PAIRS)), 32)
    assert np.asarray(vectors.offsets).tolist() == np.cumsum([0] + [len(text) for text in PAIRS]).tolist()


def test_one_models_choices_train_another(rich, arena):
    probabilities = rich.text_choose(PAIRS, ["yn"] * 6, arena)
    trainer = make_trainer(late_interaction=None)
    stats = uform.TrainerStepStats()
    step(trainer, choices=["yn"] * 6, choice_targets=(probabilities, probabilities.offsets), stats=stats)
    assert stats.step == 1


def test_receivers_of_a_trainer(executor, tmp_path):
    trainer = make_trainer(executor, late_interaction=None, choices=None)
    step(trainer)
    step(trainer.on(executor))
    call = step(trainer.deferred(executor), arena=uform.Arena())
    assert call.wait().shape == (6, 128) and call.status is uform.Status.SUCCESS
    assert trainer.deferred(executor).save(tmp_path / "a.safetensors").wait() is None
    assert uform.Model.load_ram(tmp_path / "a.safetensors").describe().depth == 1
    with uform.Executor.for_ram(threads=1) as other:
        with pytest.raises(uform.InvalidArgumentError):
            step(trainer.on(other))


@engine_only
def test_a_resume_repeats_the_bits(tmp_path):
    path, ends = tmp_path / "run.safetensors", []
    for stops in (False, True):
        trainer = make_trainer(late_interaction=None, choices=None)
        for at in range(6):
            if stops and at == 3:
                trainer.save(path, optimizer=True)
                trainer = make_trainer(late_interaction=None, choices=None, resume=path)
            step(trainer)
        trainer.save(tmp_path / f"{stops}.safetensors")
        ends.append((tmp_path / f"{stops}.safetensors").read_bytes())
    assert ends[0] == ends[1]
    with pytest.raises(uform.ConfigMismatchError) as caught:
        make_trainer(late_interaction=None, choices=None, resume=path, seed=8)
    assert "seed" in str(caught.value) and "8" in caught.value.detail


def test_prefixes_and_an_initial(tmp_path, nano_path):
    trainer = make_trainer(initial=nano_path, late_interaction=None, choices=None, query_prefix="frage: ",
                           document_prefix=b"text: ", masking=uform.Masking(text_weight=2),
                           objective=uform.Objective.JOINT,
                           contrastive=uform.Contrastive(matryoshka_dimensions=(64, 128),
                                                         pair_loss=uform.PairLossForm.SOFTMAX))
    trainer.save(tmp_path / "p.safetensors", progress=lambda completed, total: None)
    assert b"frage: " in (tmp_path / "p.safetensors").read_bytes()


@pytest.mark.parametrize("changes, kind", [
    (dict(depth=0), uform.InvalidArgumentError), (dict(hidden=100), uform.InvalidArgumentError),
    (dict(schedule=None), uform.InvalidArgumentError), (dict(objective=9), uform.InvalidArgumentError),
    (dict(objective="joint"), TypeError), (dict(batch=3), TypeError), (dict(mesh=3), TypeError),
    (dict(seed=-1), uform.InvalidArgumentError), (dict(seed=2**64), uform.InvalidArgumentError),
    (dict(resume="/nowhere/at/all"), uform.InputOutputError), (dict(surprise=1), TypeError)])
def test_options_refused(changes, kind):
    with pytest.raises(kind):
        make_trainer(**changes)


@pytest.mark.parametrize("words, kind, item", [
    (dict(relations=None), uform.InvalidArgumentError, None), (dict(texts=["x"] * 40), uform.ShapeMismatchError, None),
    (dict(bags=[0] * 5), uform.ShapeMismatchError, None), (dict(bags=[0.5] * 6), TypeError, None),
    (dict(temperature_groups=[0, 0, 0, 9, 0, 0]), uform.InvalidArgumentError, 3),
    (dict(choices=["yn"] * 6), uform.UnsupportedError, None), (dict(token_vectors=True), uform.InvalidArgumentError, None),
    (dict(relations=uform.Relations(attract=edges(5))), uform.ShapeMismatchError, None),
    (dict(relations=uform.Relations(attract=(np.arange(7, dtype=np.uint64), np.zeros(3, np.uint32)))),
     uform.InvalidArgumentError, None),
    (dict(relations=uform.Relations(attract=(np.arange(7, dtype=np.uint64), np.full(6, 99, np.uint32)))),
     uform.InvalidArgumentError, None),
    (dict(relations=uform.Relations(attract=(*edges(6)[:2], np.zeros(2, np.float32)))), uform.ShapeMismatchError, None),
    (dict(relations=uform.Relations(attract=(*edges(6)[:2], np.zeros(6)))), TypeError, None),
    (dict(relations=3), TypeError, None)])
def test_steps_refused(trainer, words, kind, item):
    with pytest.raises(kind) as caught:
        step(trainer, **words)
    if item is not None:
        assert caught.value.item == item
    step(trainer)  # and nothing is broken


def test_modalities_left_out_are_unsupported(trainer):
    with pytest.raises(uform.UnsupportedError):
        trainer.step([uform.Modality.IMAGE] * 6, PAIRS, relations=uform.Relations(attract=edges(6)))
    with pytest.raises(uform.ShapeMismatchError):
        trainer.step([uform.Modality.TEXT] * 5, PAIRS, relations=uform.Relations(attract=edges(6)))


def test_a_mesh_of_one(executor):
    seen = []
    mesh = uform.Mesh.bootstrap(executor, uform.MeshOptions(host_domain_count=1, job="alone"),
                                progress=lambda completed, total: seen.append((completed, total)))
    found = mesh.describe()
    assert (found.host_domain_index, found.host_domain_count, found.devices) == (0, 1, 1)
    assert found.multimem_tier is uform.MultimemTier.NONE and found.gpu_class is uform.GPUClass.UNKNOWN
    trainer = make_trainer(executor, mesh=mesh, late_interaction=None, choices=None)
    del mesh  # the trainer borrows it
    step(trainer)
    with pytest.raises(uform.InvalidArgumentError):
        uform.Mesh.bootstrap(executor, uform.MeshOptions(host_domain_index=3, host_domain_count=2))
    with pytest.raises(TypeError):
        uform.Mesh.bootstrap(executor, {"job": "x"})


SECOND = ["four", "vier", "five", "fünf", "six", "sechs"]


def in_a_mesh(rank, folder, deadline_milliseconds):
    """What one process of two says of its steps: for `test_a_mesh_of_two_processes`, which starts both."""
    executor = uform.Executor.for_ram(threads=1)
    mesh = uform.Mesh.bootstrap(executor, uform.MeshOptions(
        host_domain_index=rank, host_domain_count=2, directory=folder, job="pair",
        deadline_milliseconds=deadline_milliseconds))
    assert mesh.describe().devices == 2
    return steps_of(make_trainer(executor, mesh=mesh, late_interaction=None, choices=None), [PAIRS, SECOND][rank])


def steps_of(trainer, texts):
    """Loss, gradient's norm and tokens of the first step, its rows' bits, and the loss of the third."""
    stats, arena = uform.TrainerStepStats(), uform.Arena()
    scored = np.array(step(trainer, texts, stats=stats, arena=arena))
    first = [stats.loss, stats.gradient_norm, stats.tokens, scored.tobytes().hex()]
    for _ in range(2):
        step(trainer, texts, stats=stats)
    return first + [stats.loss]


def mesh_or_skip(rank, folder, deadline_milliseconds):
    try:
        return in_a_mesh(rank, folder, deadline_milliseconds)
    except uform.UnsupportedError as refused:
        pytest.skip(str(refused))


def test_a_peer_that_never_comes_is_named(tmp_path):
    with pytest.raises(uform.InputOutputError) as caught:
        mesh_or_skip(0, tmp_path, 300)
    assert caught.value.detail == "rank 1 of 2 did not come within 300 ms; 1 in all are missing"


@engine_only
def test_a_mesh_of_two_processes(tmp_path):
    with pytest.raises(uform.InputOutputError):
        mesh_or_skip(0, tmp_path / "nobody", 1)
    program = ("import sys, json; sys.path.insert(0, sys.argv[3]); from test_train import in_a_mesh; "
               "print(json.dumps(in_a_mesh(int(sys.argv[1]), sys.argv[2], 60_000)))")
    folder = str(pathlib.Path(__file__).parent)
    both = [subprocess.Popen([sys.executable, "-c", program, str(rank), str(tmp_path), folder], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
    told = [process.communicate(timeout=120) for process in both]
    assert all(process.returncode == 0 for process in both), told
    told = [json.loads(out) for out, _ in told]
    alone = steps_of(make_trainer(uform.Executor.for_ram(threads=1), late_interaction=None, choices=None), PAIRS + SECOND)
    # Sums over the world differ in their order alone: by 1e-5 of a tensor's gradient at step one, so of its norm.
    for loss, norm, tokens, rows, later in told:
        assert np.allclose([loss, norm], alone[:2], rtol=1e-5, atol=0) and later == told[0][-1], (told, alone)
        assert tokens == alone[2]
    assert told[0][3] + told[1][3] == alone[3], "an item's row is its own"


def test_vram_is_unsupported():
    with pytest.raises(uform.UnsupportedError):
        uform.Trainer.init_vram(None, depth=1, hidden=128)
