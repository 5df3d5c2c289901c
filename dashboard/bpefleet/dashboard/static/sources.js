// The table of a mixture's sources.

import { $, fill } from "./elements.js";
import { size, whole } from "./format.js";

export function drawSources(sources) {
  $("sources-card").hidden = sources.length === 0;
  fill($("sources"), sources.map((source, i) => [i, [
    source.name || "(unnamed)", source.weight, part(source.share), size(source.bytes),
    whole(source.pretokens), whole(source.files), source.sample < 1 ? part(source.sample) : "all",
    source.records ? `${whole(source.records)}${source.absent ? `, ${whole(source.absent)} without text` : ""}` : "",
  ]]));
}
const part = (share) => `${(100 * share).toFixed(1)} %`;
