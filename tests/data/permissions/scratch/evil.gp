system("touch PWN")
