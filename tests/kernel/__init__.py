"""Tests of the compiled kernel, against the installed wheel."""
