"""The exchange: a place that producer and workers see, where payloads wait to be put together."""
