"""Advice in words."""

from __future__ import annotations

import math
from collections.abc import Iterator

from runledger.advice.judge import FEW, Advice, Judged, Range
from runledger.granularity.estimate import quantile
from runledger.pictures.words import amount, percent, seconds, span

__all__ = ["lede", "ranged", "said", "uncertain"]


def lede(advice: Advice) -> Iterator[str]:
    """What it comes to."""
    if not advice.steps:
        yield "No step has been committed yet: there is nothing to advise on."
        return
    yield from _rate(advice)
    by_verdict: dict[str, list[str]] = {}
    for step in advice.steps:
        by_verdict.setdefault(step.verdict, []).append(step.group.name)
    for verdict, words in (
        ("too coarse", "Too coarse: {}."),
        ("one effect", "Long, but one effect outside that cannot be split: {}."),
        ("too fine", "So fine that the ledger is much of the job: {}."),
    ):
        if verdict in by_verdict:
            yield words.format(", ".join(by_verdict[verdict]))
    if advice.cost.durable is None:
        yield "What a record costs is not known, so nothing is said of how long steps should be."
    elif set(by_verdict) == {"well"} and advice.deaths.count:
        yield "Every step is about as long as it should be."
    if advice.deaths.rate.rate is None:
        stake = max(advice.steps, key=lambda step: step.per_death)
        yield (
            f"If it does die, a death inside {stake.group.name} costs most: {amount(stake.per_death, advice.unit)} on "
            f"average, and at most the longest stretch of it, {seconds(max(stake.group.lengths))}."
        )


def _rate(advice: Advice) -> Iterator[str]:
    deaths, rate = advice.deaths, advice.deaths.rate
    if not deaths.exposure:
        yield "The journal shows no time at work, so nothing can be said of how often the run dies."
    elif rate.rate is None:
        yield (
            f"No death was seen in {seconds(deaths.exposure)} of running, so there is no rate. "
            f"At {percent(rate.confidence)} it is not more than one in {seconds(rate.shortest_mean_time)}."
        )
    else:
        times = (
            f"{deaths.count} death{'s' if deaths.count > 1 else ''} in {seconds(deaths.exposure)} of running"
        )
        between = f"one in {span(rate.shortest_mean_time, rate.longest_mean_time)}"
        if deaths.count <= FEW:
            yield f"{times}: few, so all that is known of the rate is that it lies within {between}."
        else:
            yield f"{times}: one in {seconds(rate.mean_time or 0.0)} on average, within {between}."


def ranged(found: Range | None, unit: str, *, few: bool) -> str:
    """A number and its interval; of few deaths the interval alone, of none its upper end."""
    if found is None:
        return ""
    ends = amount(found.low, unit), amount(found.high, unit)
    if ends[0] == ends[1]:
        return ends[0]
    if found.value is None:
        return f"at most {amount(found.high, unit)}" if math.isfinite(found.high) else ""
    both = " to ".join(ends)
    return both if few else f"{amount(found.value, unit)} ({both})"


def said(step: Judged, advice: Advice) -> str:
    """What to do about one name."""
    few = advice.deaths.count <= FEW
    maybe = "" if step.sure else " It may also be well as it is: at the lowest rate it is not worth a change."
    if step.verdict == "too coarse":
        best = ranged(step.best, "seconds", few=few)
        saving = ranged(step.saving, advice.unit, few=few)
        how = (
            f"Save inside it every {best} of work: a loop over `ledger.every()`, or `step.checkpoint(state)`."
        )
        if step.group.saves:
            usual = quantile(sorted(step.group.lengths), 0.5)
            how = f"It is saved about every {seconds(usual)}, and best would be every {best}: make its items smaller."
        if step.group.idempotent is None:
            return (
                f"Whether it may be repeated is not on record. If it may: {how[0].lower()}{how[1:]} That would save "
                f"{saving} in a day of running. If it is one effect outside, it cannot be split."
            )
        return f"{how} That would save {saving} in a day of running.{maybe}"
    if step.verdict == "one effect":
        return (
            f"It cannot be split or saved inside: it is not idempotent. What is only preparation can become "
            f"an `idempotent` step before it, so that a death redoes less and leaves a doubt more rarely.{maybe}"
        )
    if step.verdict == "too fine":
        return _too_fine(step)
    return (
        "Well as it is."
        if step.verdict == "well"
        else "Nothing is known that speaks for a change, or against."
    )


def _too_fine(step: Judged) -> str:
    group = step.group
    share = percent(group.ledger_share or 0.0)
    many = "many" if step.batch is None else f"about {step.batch:,}"
    if group.idempotent:
        return f"The ledger takes {share} of its time. Do {many} of them in one step."
    return (
        f"The ledger takes {share} of its time. Where each is an effect outside, keep it, and let commits ride "
        f'(`Ledger.open(commit="riding")`) to halve that. Where it is not: `idempotent=True`, {many} in one step.'
    )


def _uncounted(advice: Advice) -> Iterator[str]:
    """Where marks do not say what was spent."""
    unit = advice.unit
    committed: dict[str, list[list[float]]] = {}
    for attempt in advice.past.attempts:
        if attempt.status == "committed":
            committed.setdefault(attempt.name, []).append(attempt.numbers(unit))
    for name, told in committed.items():
        lacking, below = sum(not numbers for numbers in told), sum(sum(numbers) < 0 for numbers in told)
        if lacking:
            which = "no mark" if lacking == len(told) else f"no mark in {lacking:,} of {len(told):,}"
            yield f"{name}: {which} has a number under {unit}: counted as none spent."
        if below:
            yield f"{name}: in {below:,} of {len(told):,} the {unit} add up to less than 0: counted as none spent."


def uncertain(advice: Advice) -> Iterator[str]:
    """What is not known, and what is assumed."""
    deaths, past = advice.deaths, advice.past
    cost = advice.cost
    if cost.durable is None:
        yield f"What a record costs is {cost.how}. No best interval is given."
    else:
        riding = "" if cost.riding is None else f", {seconds(cost.riding)} where it rides on another's sync"
        yield f"A record costs {seconds(cost.durable)}{riding}, {cost.how}."
    if 0 < deaths.count <= FEW:
        yield "With so few deaths a range is given, and no number."
    untold = deaths.count - len(deaths.told)
    if untold > 0:
        yield (
            f"Of {untold} death{'s' if untold > 1 else ''} only the number is known: what "
            f"{'they' if untold > 1 else 'it'} cost was in records that a compaction has dropped."
        )
    folded = sum(attempt.folded for attempt in past.attempts)
    if folded:
        yield (
            f"{folded:,} steps are known from the folded history alone. It does not tell which of them could be "
            f"repeated, nor what was saved inside them."
        )
    if deaths.external:
        yield (
            f"{deaths.external} steps were begun from a shell: a death there shows as a lease that lapsed, and is not "
            f"counted."
        )
    if deaths.count:
        yield "Deaths are taken to be random. If the run dies of the same fault at the same place, no interval helps."
    if advice.unit != "seconds":
        yield from _uncounted(advice)
        yield (
            f"A step's {advice.unit} are taken to be spent evenly over its time. Records cost none of them: the "
            f"interval is the one that is best for time."
        )
