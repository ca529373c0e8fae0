call writefile([], "PWN")
