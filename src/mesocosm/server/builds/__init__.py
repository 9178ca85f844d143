"""From a repository that somebody submitted to an environment that can be played."""
