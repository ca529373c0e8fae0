(write-region "" nil "PWN")
