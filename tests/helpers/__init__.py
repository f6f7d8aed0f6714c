"""What several tests share: cases, beds and meshes, odd inputs, and how results are compared."""
