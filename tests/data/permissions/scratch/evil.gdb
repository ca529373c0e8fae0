shell touch PWN
