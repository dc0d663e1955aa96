"""The DMA engines of a core as queues: who moves which part of a transfer, and when."""

import heapq
from dataclasses import dataclass, field

QUEUES = ("load", "store")


@dataclass
class Moved:
    """A transfer that is done, or on its way.

    Attributes
    ----------
    number : the job it belongs to
    start, end : seconds, from the first part's start to the last part's end
    busy : seconds of all engines together
    behind : the job whose transfer delayed the last part, if one did
    """

    number: int
    start: float = float("inf")
    end: float = 0.0
    busy: float = 0.0
    behind: int | None = None
    left: int = 0


@dataclass
class _Engine:
    """One DMA engine: a heap of (ready, number, seconds) for each queue."""

    waiting: dict[str, list[tuple[float, int, float]]] = field(
        default_factory=lambda: {queue: [] for queue in QUEUES}
    )
    free: float = 0.0
    wake: float = float("inf")  # when it will look at its queues next
    last: int = -1
    turn: str = QUEUES[0]

    def next_ready(self) -> float:
        """When the first part in any queue may start, not before the engine is free."""
        heads = [heap[0][0] for heap in self.waiting.values() if heap]
        return max(self.free, min(heads, default=float("inf")))

    def take(self, now: float) -> tuple[float, int, float]:
        """The part to move next: the queues take turns if both have one ready."""
        ready = [q for q, heap in self.waiting.items() if heap and heap[0][0] <= now]
        queue = self.turn if self.turn in ready else ready[0]
        self.turn = QUEUES[1 - QUEUES.index(queue)]
        return heapq.heappop(self.waiting[queue])


class DmaEngines:
    """All DMA engines of one core, advanced one part at a time, in order of time."""

    def __init__(self, count: int) -> None:
        self._engines = [_Engine() for _ in range(count)]
        self._wake: list[tuple[float, int]] = []
        self._moving: dict[int, Moved] = {}

    @property
    def busy(self) -> bool:
        """Whether a transfer is waiting or on its way."""
        return bool(self._wake)

    @property
    def next_time(self) -> float:
        """When the next part can start, in seconds; only while `busy`."""
        return self._wake[0][0]

    def submit(
        self, number: int, queue: str, ready: float, parts: dict[int, float]
    ) -> None:
        """Queue a transfer.

        Parameters
        ----------
        number : the job it belongs to
        queue : "load" or "store"
        ready : earliest start in seconds
        parts : engine index → seconds that it will be busy
        """
        self._moving[number] = Moved(number, left=len(parts))
        for index, seconds in parts.items():
            engine = self._engines[index]
            heapq.heappush(engine.waiting[queue], (ready, number, seconds))
            self._plan(index)

    def _plan(self, index: int) -> None:
        """Wake an engine when its next part can start."""
        engine = self._engines[index]
        if (time := engine.next_ready()) < engine.wake:
            engine.wake = time
            heapq.heappush(self._wake, (time, index))

    def step(self) -> Moved | None:
        """Start the next part; return its transfer if that was the last part of it."""
        now, index = heapq.heappop(self._wake)
        engine = self._engines[index]
        if now != engine.wake:
            return None  # an earlier wake-up came in between
        engine.wake = float("inf")
        ready, number, seconds = engine.take(now)
        moved = self._moving[number]
        if now + seconds > moved.end:
            moved.end = now + seconds
            moved.behind = engine.last if now > ready and engine.last >= 0 else None
        moved.start = min(moved.start, now)
        moved.busy += seconds
        moved.left -= 1
        engine.free, engine.last = now + seconds, number
        self._plan(index)
        return self._moving.pop(number) if not moved.left else None
