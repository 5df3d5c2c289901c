"""What a run starts or works with: server, workers, trainer, dashboard; Redis users."""
