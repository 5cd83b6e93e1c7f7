"""The outside's mail program: ``python -m runledger.demo.sendmail MAILDIR WITNESS`` delivers its input."""

from __future__ import annotations

import email
import email.policy
import mailbox
import os
import sys

from runledger.demo.witness import AFTER, BEFORE, Moment, tell

__all__ = ["deliver"]


def deliver(maildir: str, witness: int, text: bytes) -> None:
    """Put the message into the maildir; it is there when this returns."""
    message = email.message_from_bytes(text, policy=email.policy.default)
    subject, worker = str(message["Subject"]), os.getpgrp()
    tell(witness, Moment(BEFORE, "mail", subject), worker)
    mailbox.Maildir(maildir).add(message)
    tell(witness, Moment(AFTER, "mail", subject), worker)


if __name__ == "__main__":
    deliver(sys.argv[1], int(sys.argv[2]), sys.stdin.buffer.read())
