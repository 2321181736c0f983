# Lab: one matrix product, written three ways, and its operations counted.

# %% setup
#es No instala nada. Si termina en ModuleNotFoundError, instala el curso en este entorno y vuelve a ejecutarla.
#pt Não instala nada. Se terminar em ModuleNotFoundError, instale o curso neste ambiente e execute-a de novo.
import jax
import jax.numpy as jnp
import numpy as np

from graders.selfcheck import selfcheck

check = selfcheck("matmul", globals())
jax.devices()


# %% naive
def naive_matmul(a, b):
    """(M, K) x (K, N) -> (M, N)"""
    #es a y b son listas de filas; devuelve otra lista de filas y deja las entradas como estaban.
    #pt a e b são listas de linhas; devolva outra lista de linhas e deixe as entradas como estavam.
    ### BEGIN SOLUTION
    rows, inner, columns = len(a), len(b), len(b[0])
    product = [[0] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            for p in range(inner):
                product[i][j] += a[i][p] * b[p][j]
    return product
    ### END SOLUTION


# %% naive-check
check("naive")

# %% stuck-sum
ones = np.ones(1000, dtype=jnp.bfloat16)
#es Las sumas parciales después de 10, 256, 257 y 1000 unos.
#pt As somas parciais depois de 10, 256, 257 e 1000 uns.
np.add.accumulate(ones)[[9, 255, 256, 999]]


# %% blocked
def blocked_matmul(a, b, block):
    """(M, K) x (K, N) -> (M, N)"""
    #es a y b son arreglos de numpy; block es el lado de la tesela. El resultado es float32 para entradas de coma
    #es flotante e int32 para enteras.
    #pt a e b são arrays do numpy; block é o lado do bloco. O resultado é float32 para entradas de ponto flutuante e
    #pt int32 para inteiras.
    ### BEGIN SOLUTION
    rows, inner = a.shape
    columns = b.shape[1]
    accumulator = np.int32 if np.issubdtype(a.dtype, np.integer) else np.float32
    product = np.zeros((rows, columns), dtype=accumulator)
    for i in range(0, rows, block):
        for j in range(0, columns, block):
            for p in range(0, inner, block):
                a_tile = a[i : i + block, p : p + block].astype(accumulator)
                b_tile = b[p : p + block, j : j + block].astype(accumulator)
                product[i : i + block, j : j + block] += a_tile @ b_tile
    return product
    ### END SOLUTION


# %% blocked-check
check("blocked")


# %% jax
@jax.jit
def jax_matmul(a, b):
    """(M, K) x (K, N) -> (M, N)"""
    #es a y b llegan en cualquier formato de coma flotante, bfloat16 incluido; el resultado es float32.
    #pt a e b chegam em qualquer formato de ponto flutuante, bfloat16 inclusive; o resultado é float32.
    ### BEGIN SOLUTION
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)
    ### END SOLUTION


# %% jax-check
check("jax")


# %% flops
def flops(m, k, n):
    """M, K, N -> int"""
    #es Multiplicaciones más sumas del producto de M x K por K x N, como entero de Python.
    #pt Multiplicações mais somas do produto de M x K por K x N, como inteiro do Python.
    ### BEGIN SOLUTION
    return 2 * m * k * n
    ### END SOLUTION


# %% flops-check
check("flops")

# %% peak-time
from tpu_kernels.models import hardware

flops(8192, 8192, 8192) / hardware.chip("v5e").peak_flops["bf16"]
