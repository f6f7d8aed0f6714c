"""What a sphere touches of a mesh: by the double hierarchy, or by the signed contact sum."""
