"""What others see of a run: snapshots, the page's detail, times of chunks."""
