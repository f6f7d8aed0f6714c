"""Dense packings: soft spheres that push one another apart, to a volume fraction or a pressure."""
