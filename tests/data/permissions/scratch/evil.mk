x:;touch PWN
