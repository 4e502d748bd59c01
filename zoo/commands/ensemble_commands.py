"""Commands of tasks whose models can predict together."""

from zoo.commands.task_commands import TaskCommands
from zoo.storage import checkpoints


class EnsembleCommands(TaskCommands):
    """Commands whose option `--checkpoint` takes several models."""

    def add_checkpoint(self, command):
        text = "name, folder or address, or several ones, which predict together; %(default)s by default"
        super().add_checkpoint(command, nargs="+", default=[self.default_checkpoint], metavar="NAME", help=text)

    def load(self, options):
        found = self.load_all(options)
        return self.together(found) if len(found) > 1 else found[0]

    def load_all(self, options):
        """Returns the predictors of all checkpoints."""
        return [self.load_one(name, options) for name in options.checkpoint]

    def together(self, predictors):
        """Returns a predictor that averages the probabilities of several ones."""
        raise NotImplementedError

    def check(self, command, options):
        if command == self.predict:  # argparse takes the files behind `--checkpoint NAME` for further names.
            first, *others = options.checkpoint
            options.checkpoint = [first, *filter(_is_checkpoint, others)]
            options.files += [name for name in others if name not in options.checkpoint]
        super().check(command, options)


def _is_checkpoint(name):
    try:
        checkpoints.find(name)
    except ValueError:
        return False
    return True
