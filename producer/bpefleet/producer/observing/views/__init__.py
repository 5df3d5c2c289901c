"""What is shown of a run while it goes on: of counting, of merging, on the page."""
