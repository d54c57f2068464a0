"""The suite: applications built on the kit and on nothing else. They do not import each other."""
