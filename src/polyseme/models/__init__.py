"""The models: a token encoder, a context encoder and a softmax make a biLM."""
