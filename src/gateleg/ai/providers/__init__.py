"""Who runs the models: each module is one provider, or a part of several."""
