io.open("PWN", "w")
