"""What is measured, for TensorBoard: `tensorboard --logdir OUT/tensorboard`. An extra."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import UserError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class Board:
    def __init__(self, folder: Path) -> None:
        if find_spec("tensorboard") is None:
            raise UserError("train.tensorboard needs TensorBoard: pip install 'saccade[tensorboard]'")
        self.folder = folder
        self._writer: SummaryWriter | None = None

    def open_after(self, step: int) -> None:
        """Forget what was written after `step`: a resumed run will come to it again."""
        from torch.utils.tensorboard import SummaryWriter

        self.close()
        self._writer = SummaryWriter(str(self.folder), purge_step=step + 1)

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        if self._writer is not None:
            for name, value in numbers.items():
                self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
