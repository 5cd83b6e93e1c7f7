"""The worker: an agent's task code as it looks with runledger: ``python -m runledger.demo.worker TREE``.

It may be killed at any moment and started again, also twice at once. It always runs from the top: a step that
is committed does nothing, a step in doubt is settled by its probe, and one without a probe stops the worker
with the exact lines that settle it.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ParamSpec, TypeVar

from runledger import NOT_HAPPENED, Happened, Ledger, NotHappened
from runledger.demo.outside import Outside
from runledger.demo.plan import Page, Plan, Sprint
from runledger.errors import LedgerError, RunFinished, RunMoveRefused, StepInFlight

__all__ = ["work"]

P = ParamSpec("P")
T = TypeVar("T")


def work(tree: Path) -> None:
    """Do what the state file of ``tree`` leaves to do, then finish the run."""
    outside = Outside(tree)
    with Ledger.open(tree) as ledger:
        # Harmless to repeat: it costs no sync of its own.
        @patient
        @ledger.step("write-note", key="{path}", idempotent=True)
        def write_note(path: str, text: str) -> None:
            outside.write(path, text)

        # The world can be asked whether it happened: a probe settles the doubt.
        @patient
        @ledger.step("push-branch", key="{sprint.branch}", probe=lambda step: known(outside.pushed(step.key)))
        def push_branch(sprint: Sprint) -> str:
            return outside.push(sprint.branch, sprint.subject)

        @patient
        @ledger.step("publish-page", key="{page.slug}", probe=lambda step: known(outside.published(step.key)))
        def publish_page(page: Page) -> str:
            return outside.publish(page)

        # Nobody can be asked whether a mail went out: after a crash here, a person looks and resolves.
        @patient
        def send_mail(sprint: Sprint, url: str) -> None:
            with ledger.skip_committed(), ledger.step("send-mail", key=sprint.id) as step:
                step.mark("composed", subject=sprint.subject)
                outside.send(sprint.subject, f"{sprint.news}{url}\n", message_id=step.idempotency_key)

        for sprint in Plan.at(tree).sprints:
            with suppress(RunMoveRefused):  # a rival completed it: its steps do nothing
                ledger.begin_sprint(sprint.id)
            for path, text in sprint.notes.items():
                write_note(path, text)
            push_branch(sprint)
            url = publish_page(sprint.page)
            send_mail(sprint, url)
            ledger.complete_sprint(sprint.id)
        ledger.finish()


def known(found: str | None) -> Happened | NotHappened:
    """A probe's verdict from what the world shows.

    "Not there" proves "not happened" only because nothing of the dead worker can still be on its way: its
    children died with it, and the server answers in the order of arrival. Elsewhere a probe answers None.
    """
    return NOT_HAPPENED if found is None else Happened(found)


def patient(step: Callable[P, T]) -> Callable[P, T]:
    """Let the second of two workers wait for the first: for its commit, or for the news of its death."""

    @functools.wraps(step)
    def wait_for_it(*args: P.args, **kwargs: P.kwargs) -> T:
        until = time.monotonic() + 30
        while True:
            try:
                return step(*args, **kwargs)
            except StepInFlight as held:
                print(f"waiting: {held.message}", flush=True)
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    return wait_for_it


def main(tree: Path) -> int:
    """Run `work`; what stops it is said on standard error, with what to do about it."""
    try:
        work(tree)
    except RunFinished:
        print("nothing left to do")
    except LedgerError as stop:
        print(stop, file=sys.stderr)
        return stop.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
