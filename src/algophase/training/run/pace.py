"""How many threads of a crew train: found by measuring while training, not by counting cores.

Now and then a few epochs are trained with fewer threads, or with more, and the number that is
faster stays. So a crew shrinks while other programs take its cores, and grows again when they are
gone. The number changes no bit of the result.
"""

from algophase.training.engines.crew import Crew

TRIAL_EPOCHS = 12
SECONDS_BETWEEN = 8.0  # trials of a crew that is as fast as it was
FEWEST_SECONDS = 1.0  # between trials of one that has become slower
FASTER, SLOWER = (
    0.93,
    1.25,
)  # times the seconds per epoch: what makes a trial succeed, and what calls for one


class Pace:
    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.settled: int | None = None  # during a trial: the number of threads before it
        self.usual = self.before_trial = 0.0  # seconds per epoch
        self.waited, self.fewer_next = 0.0, True

    def epochs(self, wanted: int) -> int:
        """How many epochs to train before `note` is called."""
        return wanted if self.settled is None else min(wanted, TRIAL_EPOCHS)

    def note(self, seconds: float, epochs: int) -> None:
        """Tell how long some epochs took; the crew's number may change."""
        per_epoch = seconds / epochs
        if self.settled is not None:
            if per_epoch > FASTER * self.before_trial:
                self.fewer_next = self.crew.count > self.settled  # the other way next time
                self.crew.count, self.waited = self.settled, 0.0
            else:
                self.fewer_next = self.crew.count < self.settled
                self.waited = SECONDS_BETWEEN  # and perhaps further that way, at once
            self.settled, self.usual = None, 0.0
            return
        self.waited += seconds
        self.usual = min(self.usual or per_epoch, per_epoch)
        due = self.waited > SECONDS_BETWEEN or (
            self.waited > FEWEST_SECONDS and per_epoch > SLOWER * self.usual
        )
        if due and self.crew.limit > 1:
            self.settled, self.before_trial = self.crew.count, per_epoch
            self.crew.count = self._other()

    def _other(self) -> int:
        """About half as many again, or two thirds."""
        count, limit = self.crew.count, self.crew.limit
        fewer = count > 1 and (self.fewer_next or count == limit)
        return count - max(1, count // 3) if fewer else min(limit, count + max(1, count // 2))
