"""The ledger on files: one directory, any number of threads, tasks and processes of one machine."""
