"""The version of the distribution, in the one place that the package and its build read it from."""

VERSION = "0.1.0"
