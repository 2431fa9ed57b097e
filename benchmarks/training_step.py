"""What a training step costs with the penalty beside one with torch's own log-loss.

The same network, batches and optimiser, in turn. On a GPU the time is the device's own, from one
event to the next.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from tables import median_ratio, write_table

from unsway import DirectEffect, __version__, make_synthetic
from unsway.criteria import FittedCriterion
from unsway.models.torch import FairLoss
from unsway.rows import Rows

Task = Callable[[], None]

STRENGTH, WIDTH, N_INPUTS = 0.9, 256, 20
#: Device → rows to train on, rows of a batch, steps of a turn, turns.
SIZES = {"cpu": (200_000, 4_096, 5, 30), "cuda": (1_000_000, 65_536, 50, 30)}
PLAIN, PENALTY = "log-loss", "with the penalty"
COMPILED, GRAPHED = "with the penalty, compiled", "with the penalty, as a CUDA graph"


class Steps:
    """A network with its rows, trained a few steps at a time with one loss."""

    def __init__(
        self, device: str, fair: bool, *, compiled: bool = False, graphed: bool = False
    ) -> None:
        n_rows, size, n_steps, _ = SIZES[device]
        people = make_synthetic(n_rows, random_state=0)
        noise = np.random.default_rng(0).standard_normal((n_rows, N_INPUTS - people.X.shape[1]))
        self.X = torch.tensor(np.hstack([people.X, noise]), dtype=torch.float32, device=device)
        self.y = torch.tensor(people.y, dtype=torch.float32, device=device)
        drawn = torch.randperm(n_rows, generator=torch.Generator().manual_seed(0))
        self.batches = [drawn.roll(-k * size)[:size].to(device) for k in range(n_steps)]
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(N_INPUTS, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH),
            torch.nn.ReLU(), torch.nn.Linear(WIDTH, 1),
        ).to(device)  # fmt: skip
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.fair: Callable[..., torch.Tensor] | None = None
        if fair:
            # The true propensity: its fit is not what is timed.
            fitted = FittedCriterion(DirectEffect(), people.propensity)
            rows = Rows.check(people.X, people.y, sensitive_features=people.z)
            loss = FairLoss(fitted.objective(rows).at(STRENGTH)).to(device)
            self.fair = torch.compile(loss) if compiled else loss
            if graphed:
                rows = self.batches[0]
                batch = (torch.zeros(size, device=device, requires_grad=True), self.y[rows], rows)
                self.fair = torch.cuda.make_graphed_callables(loss, batch)

    def __call__(self) -> None:
        """Take the steps of one turn."""
        for rows in self.batches:
            self.optimizer.zero_grad()
            logits = self.model(self.X.index_select(0, rows))[:, 0]
            y = self.y.index_select(0, rows)
            if self.fair is None:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
            else:
                loss = self.fair(logits, y, rows)
            loss.backward()
            self.optimizer.step()


def seconds_on_cpu(task: Task) -> float:
    """Return the seconds of a turn."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def seconds_on_gpu(task: Task) -> float:
    """Return the seconds of a turn as the device counts them."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    task()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1_000


def measure(device: str) -> Iterator[tuple[str, ...]]:
    """Yield a row per loss: the median ratio to the plain step, and milliseconds of a step."""
    _, size, n_steps, turns = SIZES[device]
    tasks: dict[str, Task] = {PLAIN: Steps(device, False), PENALTY: Steps(device, True)}
    if device == "cuda":
        tasks[COMPILED] = Steps(device, True, compiled=True)
        tasks[GRAPHED] = Steps(device, True, graphed=True)
    clock = seconds_on_gpu if device == "cuda" else seconds_on_cpu
    usable = {name: task for name, task in tasks.items() if _runs(name, task)}
    for _ in range(2):
        for task in usable.values():
            task()
    seconds: dict[str, list[float]] = {name: [] for name in usable}
    for _ in range(turns):
        for name, task in usable.items():
            seconds[name].append(clock(task) / n_steps)
    for name, found in seconds.items():
        ratio = median_ratio(found, seconds[PLAIN])
        yield (
            _name(device),
            f"{size:,}",
            name,
            f"{ratio:.3f}",
            f"{1e3 * statistics.median(found):.3f}",
        )


def _runs(name: str, task: Task) -> bool:
    """Take a turn; a compiled loss needs a compiler, and is left out where there is none."""
    try:
        task()
    except Exception as error:
        if name != COMPILED:
            raise
        print(f"left out: {name} ({type(error).__name__})")
        return False
    return True


def _name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"CPU, {torch.get_num_threads()} thread" + "s" * (torch.get_num_threads() > 1)


def main() -> None:
    """Measure on every device there is, and write the table beside this script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1, help="of the CPU")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    write_table(
        options.output,
        "A training step with the penalty",
        (
            f"unsway {__version__}. A network {N_INPUTS} → {WIDTH} → {WIDTH} → 1, float32, AdamW; "
            "a step is the gathering of a batch, forward, loss, backward and the optimiser. `time` "
            f"is the median over {SIZES['cpu'][3]} interleaved turns of the ratio to a step with "
            f"torch's own log-loss. The penalty is `DirectEffect()` at λ={STRENGTH} on "
            f"{SIZES['cpu'][0]:,} rows, on a GPU {SIZES['cuda'][0]:,}.",
        ),
        ("device", "batch", "loss", "time", "ms a step"),
        [row for device in devices for row in measure(device)],
        ("torch", "numpy"),
    )


if __name__ == "__main__":
    main()
