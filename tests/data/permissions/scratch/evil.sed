1e touch PWN
