"""What is made of the reports of watched programs."""

from __future__ import annotations

from collections import Counter

from runledger.crashtest import advice
from runledger.crashtest.boundaries import Boundary, Hit, boundaries_of, nth_of, spread
from runledger.crashtest.driver import DONE, STUCK, Trial
from runledger.crashtest.verdict import Finding, judge

KILL = Boundary("before commit", "send", 1, "ada")


def hits(*said: tuple[str, str | None], run: str = "r", idempotent: bool = False) -> list[Hit]:
    """A body and a commit for each name and key."""
    found = []
    for name, key in said:
        for place in ("before intent", "after intent", "before commit"):
            n = len(found)
            found.append(Hit(place, 1, n, name=name, key=key, run=run, lsn=n, idempotent=idempotent))
    return found


def trial(seen: list[Hit], ended: str = DONE, effects: Counter[str] | None = None) -> Trial:
    """A run that was killed at ``KILL``."""
    return Trial(KILL, ended, 0, 2, seen, [], effects, "")


def verdict(usual: Trial, now: Trial) -> list[tuple[str, str, str]]:
    """Kind, step and advice of each finding."""
    return [(found.kind, found.name, found.change) for found in judge(usual, [now])]


def test_a_clean_run_has_no_findings() -> None:
    """Each step once, as without a kill."""
    usual = trial(hits(("send", "ada")))
    assert verdict(usual, usual) == []


def test_a_step_without_a_key_that_comes_again_ran_twice() -> None:
    """The ledger never skips it, so each restart repeats it."""
    usual, now = trial(hits(("send", None))), trial(hits(("send", None), ("send", None)))
    assert verdict(usual, now) == [("ran_twice", "send", advice.KEY)]


def test_another_key_after_the_restart_is_the_same_work_twice() -> None:
    """More keys than in the uninterrupted run: the key is no property of the work."""
    usual, now = trial(hits(("send", "t1"))), trial(hits(("send", "t2"), ("send", "t3")))
    assert verdict(usual, now) == [("ran_twice", "send", advice.STABLE_KEY)]


def test_keys_that_differ_from_run_to_run_and_survive_the_restart_are_well() -> None:
    """An id that the outside gave out is another each time, and the same after a restart."""
    assert verdict(trial(hits(("send", "id-1"))), trial(hits(("send", "id-2")))) == []


def test_another_run_repeats_its_keys() -> None:
    """Keys live for one run."""
    usual, now = trial(hits(("send", "ada"))), trial(hits(("send", "ada")) + hits(("send", "ada"), run="s"))
    assert verdict(usual, now) == [("ran_twice", "send", advice.RUN)]


def test_an_idempotent_step_may_run_again_unless_the_count_says_otherwise() -> None:
    """Declared harmless is believed, until the user's own count shows the harm."""
    once, again = (
        hits(("send", "ada"), idempotent=True),
        hits(("send", "ada"), ("send", "ada"), idempotent=True),
    )
    assert verdict(trial(once), trial(again)) == [("ran_again", "send", "")]
    usual, now = trial(once, effects=Counter(ada=1)), trial(again, effects=Counter(ada=2))
    assert verdict(usual, now) == [("ran_twice", "send", advice.NOT_IDEMPOTENT)]


def test_a_double_effect_of_no_step_is_outside_of_the_steps() -> None:
    """Only the count can see it."""
    seen = hits(("send", "ada"))
    usual, now = trial(seen, effects=Counter({"": 1})), trial(seen, effects=Counter({"": 2}))
    assert verdict(usual, now) == [("ran_twice", "", advice.OUTSIDE)]


def test_work_that_was_passed_over_is_lost() -> None:
    """The program says that it is done, and a step was never committed."""
    usual, now = trial(hits(("send", "ada"), ("send", "grace"))), trial(hits(("send", "ada")))
    assert verdict(usual, now) == [("lost", "send", advice.LOST)]


def test_equal_findings_of_several_kills_are_one() -> None:
    """Each kill is named, the worst kind comes first."""
    usual = trial(hits(("send", None)))
    found = judge(usual, [trial([], STUCK), trial(hits(("send", None), ("send", None))), trial([], STUCK)])
    assert [(f.kind, len(f.kills)) for f in found] == [("ran_twice", 1), ("stuck", 2)]
    assert all(isinstance(f, Finding) and f.violation for f in found)


def test_boundaries_are_numbered_by_place_and_step() -> None:
    """Over all processes, in the order of the reports, and spread evenly where there are too many."""
    seen = hits(("send", "ada"), ("send", "grace"))
    found = boundaries_of([Hit("opened", 1, 99), *seen])
    assert [(b.place, b.nth) for b in found if b.place == "after intent"] == [
        ("after intent", 1),
        ("after intent", 2),
    ]
    assert nth_of(seen, seen[4]) == 2
    assert spread(found, 3) == [found[0], found[2], found[4]]
