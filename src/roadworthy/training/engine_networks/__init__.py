"""The networks of learned engines: Pix2pixHD, CycleGAN, UNIT, U-GAT-IT, and small ones that ship.

The parameters have the names of the public code, so that public checkpoints can be read. torch is loaded when
a network is built or a checkpoint read, not before.
"""
