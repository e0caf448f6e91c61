"""One search for every model: greedy, beam, diverse beam and sampling."""
