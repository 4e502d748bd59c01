"""The command `estimate`: memory, time and price of training runs on devices that are not here."""

import argparse
import importlib

import rich.console
import rich.table
from rich.filesize import decimal

import zoo
from zoo.config import change_recipe

HERE = "here"


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of `estimate`."""
    from zoo.training.devices import DEVICES

    command.add_argument("task", choices=zoo.tasks(), help="folder of the task, one of texts")
    command.add_argument("--recipe", default="small", help="recipe of the task, %(default)s by default")
    text = "changes a value of the recipe, such as training.steps=500; may be repeated"
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=text)
    text = (
        f"what it runs on: {', '.join(DEVICES)}, or {HERE}, which measures this machine's first; %(default)s by default"
    )
    command.add_argument("--device", choices=[*DEVICES, HERE], default=HERE, metavar="DEVICE", help=text)
    command.add_argument(
        "--devices", type=int, default=1, metavar="N", help="number of devices; %(default)s by default"
    )
    text = "devices that share each weight; %(default)s by default"
    command.add_argument("--model-devices", type=int, default=1, metavar="N", help=text)
    text = "tokens of a sequence on average; %(default)s by default"
    command.add_argument("--length", type=int, default=32, metavar="N", help=text)
    text = "what an hour of a device costs; without it no price is shown"
    command.add_argument("--price", type=float, metavar="P", help=text)


def run_estimate(options: argparse.Namespace) -> None:
    """Estimates memory and time of a training run on several devices, without a corpus; `plan` measures on this one."""
    from zoo.training.devices import DEVICES
    from zoo.training.estimates import estimate

    recipes = importlib.import_module(f"zoo.{options.task}.recipes").RECIPES
    if options.recipe not in recipes:
        raise ValueError(f"--recipe must be one of {', '.join(recipes)}. Received: {options.recipe}.")
    for name in ("devices", "model_devices", "length"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1. Received: {getattr(options, name)}.")
    if options.price is not None and not options.price >= 0:
        raise ValueError(f"--price must not be negative. Received: {options.price:g}.")
    replicas, rest = divmod(options.devices, options.model_devices)
    if rest:
        raise ValueError(
            f"--model-devices must divide the number of devices, {options.devices}. Received: {options.model_devices}."
        )
    recipe = change_recipe(recipes[options.recipe], options.set)
    if options.device == HERE:
        from zoo.training.device_speed import measure_device

        device = measure_device("float32" if recipe.training.precision == "float32" else "bfloat16")
    else:
        device = DEVICES[options.device]
    found = estimate(recipe, device, replicas, options.model_devices, options.length)
    table = rich.table.Table("", "", show_header=False)
    for row in rows(options, recipe, device, found):
        table.add_row(*row)
    rich.console.Console().print(table)


def rows(options, recipe, device, found):
    """Yields (name, value) of all lines of the table."""
    steps, tokens = recipe.training.steps, recipe.training.batch_tokens
    used, hours = sum(found.memory.values()), steps * found.update / 3600
    replicas = options.devices // options.model_devices
    mesh = f"{replicas} groups of {options.model_devices}" if options.model_devices > 1 else f"{options.devices}"
    yield "parameters", f"{found.parameters:,}"
    yield "devices", f"{mesh}: {options.device}, {device.flops / 1e12:.3g} TFLOP/s, {device.bandwidth / 1e9:,.0f} GB/s"
    yield "updates", f"{steps:,} of {tokens:,} positions, {found.micro_batches} micro-batch(es) each"
    yield "memory of a device", f"{decimal(int(used))}, {used / device.memory:.0%} of what it has"
    yield from ((f"  {name}", decimal(int(count))) for name, count in found.memory.items())
    rate = found.flops / found.update
    yield "update", f"{1e3 * found.update:.3g} ms, {rate / 1e12:.3g} TFLOP/s a device, {rate / device.flops:.0%}"
    yield from ((f"  {name}", f"{1e3 * seconds:.3g} ms") for name, seconds in found.seconds.items() if seconds)
    yield "training run", f"{hours:,.1f} h, {hours * options.devices:,.1f} h of a device, evaluations left out"
    if options.price is not None:
        yield "price", f"{hours * options.devices * options.price:,.2f}"
