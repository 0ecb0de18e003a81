"""Names, enums, error classes and records: what is there, and what it is called."""

import copy
import enum
import inspect
import pickle

import pytest

import uform
import uform.encode
import uform.model
import uform.train
import uform.types


def test_one_module_per_header_and_all_names_on_top():
    modules = (uform.types, uform.model, uform.encode, uform.train)
    assert sorted(uform.__all__) == sorted(name for module in modules for name in module.__all__)
    for module in modules:
        for name in module.__all__:
            assert getattr(module, name) is getattr(uform, name)


def test_version_is_the_headers():
    assert uform.__version__ == uform.version() == "4.0.0"


def test_statuses_are_in_the_order_of_the_header():
    names = ("SUCCESS DEFERRED OUT_OF_MEMORY SHAPE_MISMATCH UNSUPPORTED_LAYOUT UNKNOWN_KIND IO DEVICE MALFORMED INTERNAL "
             "CONFIG_MISMATCH CONTENDED CANCELLED UNSUPPORTED INVALID_ARGUMENT").split()
    assert [member.name for member in uform.Status if member >= 0] == names
    assert [int(uform.Status[name]) for name in names] == list(range(15))


@pytest.mark.parametrize("name, member, value", [
    ("Scalar", "E4M3", 4), ("Completion", "QUEUED", 1), ("Mood", "PARKED", 1), ("CPUClass", "INTEL_HASWELL", 2),
    ("GPUClass", "NVIDIA_HOPPER", 3), ("Modality", "AUDIO", 3), ("MultimemTier", "MULTICAST", 2), ("Objective", "JOINT", 2),
    ("Negatives", "NAMED", 1), ("PairLossForm", "SOFTMAX", 4), ("LateInteractionSide", "QUERY_AND_DOCUMENT", 3)])
def test_enums_are_int_enums(name, member, value):
    kind = getattr(uform, name)
    assert issubclass(kind, enum.IntEnum) and kind.__module__ == "uform" and kind[member] == value and kind.__doc__
    assert ("UNKNOWN" in kind.__members__) == (name != "MultimemTier")


@pytest.mark.parametrize("status, name, builtin", [
    ("OUT_OF_MEMORY", "OutOfMemoryError", MemoryError), ("SHAPE_MISMATCH", "ShapeMismatchError", ValueError),
    ("UNSUPPORTED_LAYOUT", "UnsupportedLayoutError", ValueError), ("UNKNOWN_KIND", "UnknownKindError", ValueError),
    ("IO", "InputOutputError", OSError), ("DEVICE", "DeviceError", None), ("MALFORMED", "MalformedError", ValueError),
    ("INTERNAL", "InternalError", None), ("CONFIG_MISMATCH", "ConfigMismatchError", ValueError),
    ("CONTENDED", "ContendedError", None), ("CANCELLED", "CancelledError", None),
    ("UNSUPPORTED", "UnsupportedError", NotImplementedError), ("INVALID_ARGUMENT", "InvalidArgumentError", ValueError)])
def test_errors_have_a_class_per_status(status, name, builtin):
    kind = getattr(uform, name)
    assert issubclass(kind, uform.Error) and issubclass(uform.Error, RuntimeError)
    assert builtin is None or issubclass(kind, builtin)
    assert uform.InvalidTypeError.__bases__ == (uform.InvalidArgumentError, TypeError)
    assert kind("said by hand").status is uform.Status[status] and kind("x").item is None and kind("x").detail == ""


def test_records_are_built_by_keyword_or_in_order():
    shape = uform.BatchShape(max_rows_per_device=2, image=uform.ImageShape(patch_side=16), audio=(400, 8000))
    assert (shape.max_rows_per_device, shape.max_bags_per_device, shape.image.patch_side) == (2, 0, 16)
    assert (shape.audio.chunk_samples, shape.audio.sample_rate, shape.video.patch_side) == (400, 8000, 0)
    assert uform.Contrastive(matryoshka_dimensions=[64, 128]).matryoshka_dimensions == (64, 128)
    assert uform.Contrastive(negatives=uform.Negatives.NAMED).negatives is uform.Negatives.NAMED
    options = uform.MeshOptions(directory="/shared", job="run-17")
    assert (options.directory, options.job) == ("/shared", "run-17")
    assert repr(uform.Schedule(steps=3)) == (
        "uform.Schedule(learning_rate=0.0, min_learning_rate=0.0, warmup_steps=0, steps=3)")


def test_records_refuse_what_they_are_not():
    with pytest.raises(TypeError):
        uform.BatchShape(rows=2)
    with pytest.raises(TypeError):
        uform.BatchShape(image=16)
    with pytest.raises(TypeError):
        uform.Contrastive(negatives="named")  # enums, never strings
    with pytest.raises(TypeError):
        uform.Contrastive(negatives=uform.Mood.PARKED)  # nor another enum's member
    with pytest.raises(uform.InvalidArgumentError):
        uform.Schedule(steps=-1)
    with pytest.raises(AttributeError):
        uform.Schedule(steps=1).steps = 2  # what a call may be reading does not change


RECORDS = [
    uform.BatchShape(max_rows_per_device=2, image=uform.ImageShape(patch_side=16), audio=(400, 8000)),
    uform.Contrastive(matryoshka_dimensions=[64, 128], inverse_temperature=0.1, negatives=uform.Negatives.NAMED),
    uform.MeshOptions(host_domain_index=1, directory="/shared/\udcff", job="läuft"), uform.Limits(max_pixels=2**63),
    uform.Schedule(learning_rate=1e-3, steps=3), uform.Masking(), uform.TextEncodeStats(truncated=1, tokens=5),
    uform.GPUDevice(gpu_class=uform.GPUClass.NVIDIA_HOPPER, memory_bytes=2**40, name="NVIDIA H200"), uform.capabilities(),
    uform.TrainerStepStats(loss=0.1, tokens=7), uform.ModelDescription(dimensions=128, image=(16, 3))]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_are_values(record):
    for twin in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):
        assert twin == record and not twin != record and twin is not record and repr(twin) == repr(record)
        if "Stats" not in type(record).__name__:
            assert hash(twin) == hash(record) and {record: 1}[twin] == 1
    assert record != 3 and record != RECORDS[RECORDS.index(record) - 1]
    with pytest.raises(TypeError):
        record < record


def test_records_that_differ_in_a_field_are_not_equal():
    assert uform.Schedule(steps=3) != uform.Schedule(steps=4) and uform.Schedule(steps=3) == uform.Schedule(0, None, steps=3)
    assert uform.ImageEncodeStats(1, 2) != uform.TextEncodeStats(1, 2)
    with pytest.raises(TypeError):
        hash(uform.TextEncodeStats())  # calls overwrite it
    with pytest.raises(uform.InvalidArgumentError):
        uform.GPUDevice(name="x" * 128)
    with pytest.raises(uform.InvalidTypeError):
        uform.Capabilities(cpu_classes=["serial"])


def test_errors_cross_processes():
    with pytest.raises(uform.ShapeMismatchError) as caught:
        raise uform.ShapeMismatchError("said by hand")
    caught.value.item, caught.value.detail = 4, "both values"
    twin = pickle.loads(pickle.dumps(caught.value))
    assert type(twin) is uform.ShapeMismatchError and str(twin) == "said by hand"
    assert (twin.item, twin.detail, twin.status) == (4, "both values", uform.Status.SHAPE_MISMATCH)
    for name in ("InputOutputError", "OutOfMemoryError", "InvalidTypeError"):
        assert type(pickle.loads(pickle.dumps(getattr(uform, name)("x")))) is getattr(uform, name)


def test_handles_are_not_copied(model, arena, executor):
    encoded = model.text_encode(["x"], arena)
    for handle in (model, arena, executor, model.on(executor), encoded.embeddings):
        with pytest.raises(TypeError):
            pickle.dumps(handle)
        with pytest.raises(TypeError):
            copy.copy(handle)


def test_what_verbs_make_is_not_made_by_hand():
    for name in ("Executor", "Model", "On", "DeferredOn", "Deferred", "ArenaBuffer", "RowsTape", "Mesh", "Trainer"):
        with pytest.raises(TypeError):
            getattr(uform, name)()


def test_everything_has_a_docstring_and_a_signature():
    for name in uform.__all__:
        thing = getattr(uform, name)
        assert thing.__doc__, name
        if inspect.isclass(thing) and thing.__module__ == "uform" and not issubclass(thing, (int, BaseException, tuple)):
            for method in vars(thing):
                function = getattr(thing, method)
                if not method.startswith("_") and callable(function):
                    assert function.__doc__ and function.__text_signature__, f"{name}.{method}"


def test_capabilities_and_devices():
    found = uform.capabilities()
    assert uform.CPUClass.SERIAL in found.cpu_classes and set(found.cpu_classes) <= set(found.cpu_classes_built)
    assert found.cpu_class in found.cpu_classes and found.threads >= 1
    assert len(uform.gpu_devices()) == found.gpu_devices
