exec touch PWN
