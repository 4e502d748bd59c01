"""Conversion of configurations to and from plain values, and command-line overrides."""

import dataclasses
import difflib
import typing


def to_dict(config: typing.Any) -> dict:
    """Converts a configuration to plain dictionaries, ready for JSON."""
    return dataclasses.asdict(config)


def from_dict(config: typing.Any, values: typing.Mapping) -> typing.Any:
    """Builds a configuration from plain dictionaries; the inverse of `to_dict`.

    Args:
        config: The class of the configuration, or an instance of it, whose groups of fields have the classes wanted.
        values: Values by name.

    Raises:
        ValueError: If a field is unknown or has the wrong type.
    """
    config_class = config if isinstance(config, type) else type(config)
    if not isinstance(values, typing.Mapping):
        raise ValueError(f"{config_class.__name__} must be an object of named values. Received: {values!r}.")
    known = {}
    for name, value in values.items():
        kind = _kind(config, name, config_class.__name__)
        known[name] = from_dict(kind, value) if dataclasses.is_dataclass(kind) else _typed(name, value, kind)
    return config_class(**known)


def override(config: typing.Any, assignments: typing.Iterable[str]) -> typing.Any:
    """Applies command-line assignments such as `training.steps=500`.

    Raises:
        ValueError: If an assignment has no `=`, names no field, or its value has the wrong type;
            the message lists the valid names.
    """
    values = to_dict(config)
    for assignment in assignments:
        path, separator, text = (part.strip() for part in assignment.partition("="))
        if not separator:
            raise ValueError(f"Expected NAME=VALUE. Received: {assignment!r}. Example: training.steps=500.")
        group, kind, names = values, config, path.split(".")
        for name, following in zip(names, names[1:]):
            kind, group = _kind(kind, name, path), group[name]
            if not dataclasses.is_dataclass(kind):
                raise ValueError(f"`{name}` is a value and has no field {following!r}. Received: {path}.")
        kind = _kind(kind, names[-1], path)
        if dataclasses.is_dataclass(kind):
            settings = ", ".join(f"{path}.{f.name}" for f in dataclasses.fields(kind))
            raise ValueError(f"`{path}` is a group of settings; set one of them: {settings}.")
        group[names[-1]] = _parse(path, text, kind)
    # Checked together, so that the order of assignments does not matter.
    return from_dict(config, values)


def _kind(config, name, where):
    """Returns the type of a field; of a group of fields, that of the group in this very configuration."""
    kinds = {f.name: f.type for f in dataclasses.fields(config)}
    if name not in kinds:
        close = difflib.get_close_matches(name, kinds, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"Unknown field {name!r} in {where}.{hint} Known fields: {', '.join(kinds)}.")
    value = getattr(config, name, None)
    return type(value) if dataclasses.is_dataclass(value) else kinds[name]


def _parse(name, text, kind):
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"`{name}` must be true or false. Received: {text!r}.")
        return text.lower() == "true"
    try:
        return kind(text.replace("_", "")) if kind in (int, float) else kind(text)
    except ValueError:
        raise ValueError(f"`{name}` must be of type {kind.__name__}. Received: {text!r}.") from None


def _typed(name, value, kind):
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"`{name}` must be of type {kind.__name__}. Received: {value!r}.")
    return value
