syscmd(touch PWN)
