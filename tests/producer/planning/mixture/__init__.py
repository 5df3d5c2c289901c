"""Tests of mixtures as they are planned."""
