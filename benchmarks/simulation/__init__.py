"""A fleet of generated workers that speak the real protocol with real payloads."""
