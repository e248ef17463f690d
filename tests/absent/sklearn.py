raise ImportError("programs that tests start do without sklearn, as users do")
