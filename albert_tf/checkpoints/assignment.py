"""Strict assignment of checkpoint tensors to a model, with a report."""

import dataclasses
import shlex

import numpy as np

from albert_tf.errors import UserError
from albert_tf.errors import shortened
from albert_tf.families import registry


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """The outcome of an assignment: official names of tensors, by outcome.

    Attributes:
        source: the checkpoint, as messages name it.
        loaded: names of tensors in both.
        missing: names in the model only, whose tensors keep their initial values.
        unexpected: names in the checkpoint only.
        wrong_shape: names in both, whose tensors keep their initial values.
    """

    source: str
    loaded: tuple = ()
    missing: tuple = ()
    unexpected: tuple = ()
    wrong_shape: tuple = ()

    @property
    def new(self):
        """Names of variables that the checkpoint lacked; their values are random."""
        return (*self.missing, *self.wrong_shape)

    def __str__(self):
        lines = [f"{self.source}: {len(self.loaded)} tensors loaded"]
        for label, names in (
            ("new in the model", self.missing),
            ("not used", self.unexpected),
            ("replaced because of their shape", self.wrong_shape),
        ):
            if names:
                lines.append(f"  {label}: {', '.join(names)}")
        return "\n".join(lines)


def beginnings(allow_missing):
    """Returns `allow_missing` as a tuple; a str counts as one name."""
    return (allow_missing,) if isinstance(allow_missing, str) else (*allow_missing,)


def assign_tensors(model, tensors, source, allow_missing=()):
    """Assigns `tensors` to the model, or nothing at all.

    Args:
        model: a `PretrainedModel`.
        tensors: numpy arrays by official name.
        source: the checkpoint's name in messages.
        allow_missing: official names, or name prefixes, that may be absent or have
            another shape.

    Returns:
        A `LoadReport`.

    Raises:
        UserError: a tensor is missing, has another shape, is unknown to the model, or
            holds NaN or infinity.
    """
    variables = model.official_variables()
    allowed = beginnings(allow_missing)
    common = [name for name in variables if name in tensors]
    fits = [n for n in common if tuple(variables[n].shape) == tensors[n].shape]
    report = LoadReport(
        source=source,
        loaded=tuple(fits),
        missing=tuple(name for name in variables if name not in tensors),
        unexpected=tuple(name for name in tensors if name not in variables),
        wrong_shape=tuple(name for name in common if name not in set(fits)),
    )
    _check(report, variables, tensors, allowed, model)
    require_finite({name: tensors[name] for name in fits}, source)
    for name in fits:
        variables[name].assign(tensors[name])
    return report


def require_finite(weights, source):
    """Raises a `UserError` if arrays or variables, by name, hold NaN or infinity."""
    for name, values in weights.items():
        if not np.isfinite(np.asarray(values)).all():
            raise UserError(
                f"{source} holds NaN or infinity in {name}, so that the model has no "
                "answers; train it again, or take an earlier checkpoint."
            )


def _check(report, variables, tensors, allowed, model):
    source, family = report.source, model.family
    if not report.loaded:
        raise UserError(
            f"{source} holds no tensor that fits the model; is it a checkpoint of this "
            "architecture and configuration?"
        )
    for name in report.wrong_shape:
        if not name.startswith(allowed):
            raise UserError(
                f"{source} holds {name} with shape {list(tensors[name].shape)}, but "
                f"the model needs {list(variables[name].shape)}; use the checkpoint's "
                "own configuration."
            )
    # A model skips heads that it does not have.
    heads = (*family.known_heads, *registry.head_names(family))
    unknown = [n for n in report.unexpected if not n.startswith(heads)]
    if unknown:
        raise UserError(
            f"{source} holds tensors that the model has no place for: "
            f"{shortened(unknown)}; use the checkpoint's own configuration."
        )
    missing = [name for name in report.missing if not name.startswith(allowed)]
    if missing:
        ways = _ways(missing, source, model)
        raise UserError(f"{source} lacks {shortened(missing)}; {ways}")


def _ways(missing, source, model):
    """Suggests how to load a checkpoint that lacks variables of the model."""
    in_python = "name them in allow_missing"
    if model.head_may_be_new and not set(missing).isdisjoint(model.head_variables()):
        return f"{in_python} if they may keep their initial values."
    parts = ",".join(dict.fromkeys("/".join(name.split("/")[:2]) for name in missing))
    form = "" if model.head_may_be_new else f" --model_class={type(model).__name__}"
    return (
        "where they may begin with random values, write a model that has them "
        f"(albert-tf convert --from={shlex.quote(source)} --to=FOLDER{form} "
        f"--allow_missing={parts}) and name that, or in Python {in_python}."
    )
