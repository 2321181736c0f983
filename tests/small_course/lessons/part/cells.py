# One of everything that a page can show.

# %% numbers
import matplotlib.pyplot as plt

from tpu_kernels.models import hardware

#es comentario para quien lee en español
#pt comentário para quem lê em português
bandwidth = hardware.chip("v5e").hbm_bandwidth
ratio = 2 / 3
hardware.table(["v5e", "v6e"], ["hbm_bandwidth"])

# %% plot
line = plt.plot([1, 2])

# %% folded
sum(range(10))
