"""What is deployed: images, units, manifests, and RQ's own tools."""
