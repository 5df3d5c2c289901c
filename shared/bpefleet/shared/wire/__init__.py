"""What crosses between processes: messages, events, requests, snapshots, Redis keys."""
