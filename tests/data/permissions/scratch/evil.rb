File.write("PWN", "")
