"""Surface meshes from and to files, one module for each format; `pdem.containers.mesh_files.reading` knows them all."""
