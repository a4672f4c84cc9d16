// The compute worker of a page without programs: Tacit without the language's compiler.
import init, * as tacit from "./tacit_lean.js";
import { compute } from "./calls.js";

compute(init, tacit);
