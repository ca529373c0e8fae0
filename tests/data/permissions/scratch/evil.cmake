file(WRITE PWN "")
