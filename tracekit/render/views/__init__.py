"""The views: each turns a result into a document. Every sentence is made and every number rounded here."""
