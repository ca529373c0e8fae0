open("PWN", "w")
