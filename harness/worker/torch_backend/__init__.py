"""The PyTorch worker's modules; `torch_worker.py` beside this package is the program.

The package is not called `torch`: its parent folder comes first on the path of
the running script, and the name would hide PyTorch itself.
"""
