package Evil;
open(F, ">PWN");
1;
