// Words for numbers.

export function size(count) {
  let unit = "B", value = count;
  for (unit of ["B", "kB", "MB", "GB", "TB"]) {
    if (value < 1000 || unit === "TB") break;
    value /= 1000;
  }
  return unit === "B" ? `${Math.round(value)} B` : `${value.toFixed(1)} ${unit}`;
}
export const whole = (number) => number.toLocaleString("en-US");
export const rate = (perSecond) => `${size(perSecond)}/s`;
export const short = (seconds) => seconds < 10 ? `${seconds.toFixed(seconds < 1 ? 3 : 1)} s` : span(seconds);
export const share = (part, all) => all ? part / all : 1;
// Never 100 % until it is all.
export const percent = (part, all) => `${(part < all ? Math.min(99.9, 100 * part / all) : 100).toFixed(1)} %`;

// A date, or only the time of day if it is today.
export function clock(seconds) {
  const then = new Date(seconds * 1000);
  const day = then.toDateString() === new Date().toDateString() ? ""
    : `${then.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" })}, `;
  return day + then.toLocaleTimeString("en-GB");
}
// Tenths for what is over in seconds.
export const took = (seconds) => seconds < 10 ? `${Math.max(0, seconds).toFixed(1)} s` : span(seconds);

export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  const hours = Math.floor(s / 3600);
  return hours < 48 ? `${hours} h ${Math.floor((s % 3600) / 60)} min` : `${Math.round(hours / 24)} days`;
}
