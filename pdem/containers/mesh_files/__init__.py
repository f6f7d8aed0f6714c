"""Readers and writers of surface meshes, one module per format; `pdem.containers.mesh_files.reading` selects one."""
