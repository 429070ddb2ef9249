"""Says results to people and writes them down: views turn a result into a document, formats turn either into bytes."""
