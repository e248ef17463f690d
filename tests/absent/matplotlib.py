raise ImportError("programs that tests start do without matplotlib, as users do")
