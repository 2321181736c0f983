# Inside a TPU: the systolic array, its surroundings, the generations v2 to 7x.

# %% operand-reads
from tpu_kernels.models import hardware, systolic
from tpu_kernels.models.quantity import Quantity

chip = hardware.chip("v5e")
#es Sin reutilizar: cada multiplicación con suma (2 FLOP)
#es lee 2 operandos de 2 bytes.
#pt Sem reaproveitar: cada multiplicação com soma (2 FLOP)
#pt lê 2 operandos de 2 bytes.
naive_bandwidth = Quantity(chip.peak_flops["bf16"] / 2 * 2 * 2, "bytes/s")
bandwidth_gap = naive_bandwidth / chip.hbm_bandwidth
#es Con el arreglo: cada entrada sirve a todas las celdas de su fila;
#es cada peso, a todas las filas de entrada.
#pt Com o arranjo: cada entrada serve a todas as células da sua linha;
#pt cada peso, a todas as linhas de entrada.
array_reads = systolic.operand_reads_per_mac(
    rows=chip.mxu_rows, columns=chip.mxu_columns, length=1024
)
array_reuse = 2 / array_reads
missing_factor = bandwidth_gap / array_reuse
round(array_reuse)

# %% first-cycles
weights = [[1, 2], [3, 4]]
inputs = [[10, 20], [30, 40]]
trace = systolic.simulate(weights=weights, inputs=inputs)
trace.table(cycles=range(4))

# %% first-picture
trace.picture(1)

# %% same-product
by_definition = [
    [sum(inputs[m][k] * weights[k][n] for k in range(2)) for n in range(2)]
    for m in range(2)
]
assert trace.product == by_definition
by_definition

# %% wave-frames
#es Todo vale 1: aquí solo importa el movimiento.
#pt Tudo vale 1: aqui só importa o movimento.
wave = systolic.simulate(weights=[[1] * 4] * 4, inputs=[[1] * 4] * 8)
wave.filmstrip(cycles=(2, 6, 11))

# %% occupancy
wave_cycles, wave_useful = wave.cycles, wave.utilisation
wave.occupancy_picture()

# %% rows-against-utilisation
def useful_alone(rows):
    cycles = systolic.cycle_count(128, 128, length=rows)
    return Quantity(rows / cycles, "share")


few_rows_cycles = systolic.cycle_count(128, 128, length=8)
few_rows_useful, many_rows_useful = useful_alone(8), useful_alone(8192)
{rows: round(100 * useful_alone(rows), 1) for rows in (8, 128, 1024, 8192)}


# %% weights-that-change
#es Quinientos bloques de pesos, uno detrás de otro;
#es cada uno atiende a las mismas filas de entrada.
#pt Quinhentos blocos de pesos, um atrás do outro;
#pt cada um recebe as mesmas linhas de entrada.
def useful_in_line(rows, blocks=500):
    width = 128 * blocks
    return systolic.utilisation(rows, 128, width, rows=128, columns=128)


changing_weights_useful = useful_in_line(8)
{rows: round(100 * useful_in_line(rows), 1) for rows in (8, 64, 128, 1024)}

# %% peak-from-array
cells_per_mxu = chip.mxu_rows * chip.mxu_columns
mxus = chip.mxus_per_tensorcore * chip.tensorcores
peak_from_array = Quantity(2 * cells_per_mxu * mxus * chip.clock, "FLOP/s")
peak_match = Quantity(peak_from_array / chip.peak_flops["bf16"], "share")
peak_match

# %% one-column-too-many
exact_cycles = systolic.tiled_cycles(4096, 128, 128, rows=128, columns=128)
ragged_cycles = systolic.tiled_cycles(4096, 128, 129, rows=128, columns=128)
ragged_price = ragged_cycles / exact_cycles
round(ragged_price, 2)

# %% useful-fraction
import matplotlib.pyplot as plt


def useful_fraction(width, side, rows=4096):
    return systolic.utilisation(rows, width, width, rows=side, columns=side)


widths = range(1, 1025)
figure, axes = plt.subplots(figsize=(7, 3.5))
for side, style in ((128, "-"), (256, "--")):
    useful = [useful_fraction(width, side) for width in widths]
    axes.plot(widths, useful, style, label=f"{side} × {side}")
axes.set(xlabel="$n$", ylabel=r"$\eta$", ylim=(0, 1))
axes.set_xticks(range(0, 1025, 128))
axes.legend()
plt.show()

# %% block-in-vmem
#es FLOP que hay que hacer con cada byte de la HBM para no esperarla nunca.
#pt FLOP que é preciso fazer com cada byte da HBM para nunca esperar por ela.
needed_intensity = chip.peak_flops["bf16"] / chip.hbm_bandwidth
#es Dos bloques cuadrados en bf16 por paso;
#es el del resultado se queda en la VMEM.
#pt Dois blocos quadrados em bf16 por passo;
#pt o bloco do resultado fica na VMEM.
block_side = 512
block_intensity = 2 * block_side**3 / (2 * 2 * block_side**2)
#es Dos lugares por bloque (uno en uso, otro llegando) y el acumulador en fp32.
#pt Dois lugares por bloco (um em uso, outro chegando) e o acumulador em fp32.
block_memory = Quantity(block_side**2 * (2 * 2 * 2 + 4), "bytes")
block_memory

# %% memory-times
ici_link = chip.ici_bandwidth_per_link_oneway
hbm_over_ici = chip.hbm_bandwidth / ici_link
hbm_sweep = Quantity(chip.hbm_capacity / chip.hbm_bandwidth, "s")
hbm_sweep

# %% tpu-against-gpu
gpu = hardware.chip("h100")
gpu_intensity = gpu.peak_flops["bf16"] / gpu.hbm_bandwidth
big_tpu = hardware.chip("v5p")
big_tpu_mxus = big_tpu.mxus_per_tensorcore * big_tpu.tensorcores
round(needed_intensity), round(gpu_intensity)

# %% generations
names = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "7x")
compute = [
    "peak_flops.bf16",
    "tensorcores",
    "mxus_per_tensorcore",
    "mxu_side",
    "sparsecores",
]
hardware.table(names, compute)

# %% generations-memory
memory = [
    "hbm_capacity",
    "hbm_bandwidth",
    "vmem_per_chip",
    "ici_topology",
    "pod_chips",
]
hardware.table(names, memory)

# %% growth
first, last = hardware.chip(names[0]), hardware.chip(names[-1])
compute_growth = last.peak_flops["bf16"] / first.peak_flops["bf16"]
bandwidth_growth = last.hbm_bandwidth / first.hbm_bandwidth
first_intensity = first.peak_flops["bf16"] / first.hbm_bandwidth
last_intensity = last.peak_flops["bf16"] / last.hbm_bandwidth
round(compute_growth, 1), round(bandwidth_growth, 1)


# %% solution-rows
def rows_needed(target, side=128):
    length = 1
    while length / systolic.cycle_count(side, side, length) < target:
        length += 1
    return length


rows_for_90, rows_for_99 = rows_needed(0.90), rows_needed(0.99)
rows_for_90, rows_for_99


# %% solution-heads
def scores_fraction(side, length=2048, head=64):
    shape = (length, head, length)
    return systolic.utilisation(*shape, rows=side, columns=side)


head_useful_128 = scores_fraction(128)
head_useful_256 = scores_fraction(256)
round(100 * head_useful_128, 1), round(100 * head_useful_256, 1)

# %% solution-units
both_ways = chip.ici_bandwidth_bidirectional
one_way_gigabits = both_ways / 2 * 8 / 1e9
per_link = Quantity(both_ways / 2 / chip.ici_links, "bytes/s")
per_link
