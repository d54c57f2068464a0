"""HTTP as models need it: requests as values, answers that may come piece by piece, connections that are kept."""
