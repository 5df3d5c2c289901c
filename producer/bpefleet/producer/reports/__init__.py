"""The report of a finished run, and the profile of where its time went."""
