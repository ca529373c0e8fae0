.shell touch PWN
