"""The run half of the shared engine: columns, messages, replies, journals, cost, and classification by rule."""
