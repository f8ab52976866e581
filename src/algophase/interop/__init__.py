"""Networks in other people's tools: the Hugging Face Hub and TransformerLens."""
