BEGIN { system("touch PWN") }
