"""The toolkit that keeps a benchmark honest: vet, seal, rotate, publish, run and score.

The public parts are imported where they are used, so that ``import lacre`` loads no heavy library.
"""

__version__ = "0.1.0"
