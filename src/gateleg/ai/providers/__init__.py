"""Providers of models: each module is one provider, or shared by several."""
