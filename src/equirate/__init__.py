"""x"""
from .slices import attr
