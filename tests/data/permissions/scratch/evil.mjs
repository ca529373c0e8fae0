import { writeFileSync } from "node:fs";
writeFileSync("PWN", "");
export default { input: "a.mjs" };
