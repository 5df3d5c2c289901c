"""The libraries that reach stores: obstore for buckets and web servers, fsspec for all others."""
