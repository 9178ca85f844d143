"""Foreign processes: started, watched, read, and ended with everything that they started."""
