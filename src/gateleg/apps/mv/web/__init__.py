"""HTTP routes and console pages of music videos."""
