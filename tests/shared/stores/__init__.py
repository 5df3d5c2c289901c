"""Tests of what lies in stores."""
