"""
The largest recall at a precision of 0.9
========================================

x
"""
import equirate as eq
import matplotlib.pyplot as plt
eq.precision() >= 0.9
plt.plot([1,2])
