// The compute worker of a page that runs programs.
import init, * as tacit from "./tacit_web.js";
import { compute } from "./calls.js";

compute(init, tacit);
