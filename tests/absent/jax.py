raise ImportError("programs that tests start do without jax, as users do")
