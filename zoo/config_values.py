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
    fields = {f.name: f for f in dataclasses.fields(config_class)}
    known = {}
    for name, value in values.items():
        _check_name(name, fields, config_class.__name__)
        kind = _kind(config, fields[name])
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
        _assign(values, config, path.split("."), text, path)
    # Checked together, so that the order of assignments does not matter.
    return from_dict(config, values)


def _kind(config, field):
    """The type of a field; of a group of fields, that of the group in this very configuration."""
    value = getattr(config, field.name, None)
    return type(value) if dataclasses.is_dataclass(value) else field.type


def _assign(values, config, path, text, full_path):
    fields = {f.name: f for f in dataclasses.fields(config)}
    _check_name(path[0], fields, full_path)
    kind = _kind(config, fields[path[0]])
    if dataclasses.is_dataclass(kind):
        if len(path) == 1:
            names = ", ".join(f"{full_path}.{f.name}" for f in dataclasses.fields(kind))
            raise ValueError(f"`{full_path}` is a group of settings; set one of them: {names}.")
        _assign(values[path[0]], kind, path[1:], text, full_path)
    else:
        if len(path) > 1:
            raise ValueError(f"`{path[0]}` is a value and has no field {path[1]!r}. Received: {full_path}.")
        values[path[0]] = _parse(full_path, text, kind)


def _check_name(name, fields, where):
    if name not in fields:
        close = difflib.get_close_matches(name, fields, 1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"Unknown field {name!r} in {where}.{hint} Known fields: {', '.join(fields)}.")


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
