"""Objects in stores: their URLs, listing, reading and writing them."""
