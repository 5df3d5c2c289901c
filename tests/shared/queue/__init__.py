"""The job, its serializer, and the log of an attempt."""
