"""The RQ job: how it is made, what is admitted, how it travels, the log of its attempt."""
