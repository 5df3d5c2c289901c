"""Run directories and corpora in which others planted something."""
