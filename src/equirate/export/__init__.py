"""Fitted classifiers as ONNX models, for services that are not Python.

`model` builds and writes the model, `members` has the graph of each kind of members, `linear` and `trees` those of
linear scores and of trees, `columns` the encoding of a table's columns, and `checking` compares the decisions with
Python's before anything is written. The packages onnx and onnxruntime (extra ``onnx``) are imported only when used.
"""
