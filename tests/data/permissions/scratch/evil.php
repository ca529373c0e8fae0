<?php touch("PWN");
