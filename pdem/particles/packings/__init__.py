"""Dense packings: soft spheres that push each other apart, up to a volume fraction or a pressure."""
