open(F, ">PWN");
1;
