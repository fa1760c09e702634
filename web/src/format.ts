// Numbers as readable text.

const units = (x: number, step: number, names: string[]): string => {
  let i = 0;
  while (Math.abs(x) >= step && i < names.length - 1) {
    x /= step;
    i++;
  }
  const digits = i === 0 || Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2;
  return `${Number(x.toFixed(digits))}${names[i]}`;
};

export const count = (x: number): string => (Math.abs(x) < 10_000 ? String(x) : units(x, 1000, ["", " k", " M", " G", " T"]));
export const bytes = (x: number): string => units(x, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
export const exact = (x: number): string => x.toLocaleString("en");

export function seconds(s: number): string {
  if (!Number.isFinite(s) || s <= 0) return s === 0 ? "0 s" : "-";
  if (s < 0.9995e-3) return `${three(s * 1e6)} µs`;
  if (s < 0.9995) return `${three(s * 1e3)} ms`;
  if (s < 120) return `${three(s)} s`;
  return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}

/** left returns the remaining time as text, in whole seconds up to two minutes. */
export const left = (s: number): string => (s < 1 ? "less than 1 s left" : `about ${seconds(s < 120 ? Math.round(s) : s)} left`);

const three = (x: number) => Number(x.toPrecision(3)).toString();

export const percent = (part: number, whole: number): string => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : "-");

/** verb returns the past tense of a superstep's delivery. */
export const verb = (delivery: string): string =>
  delivery === "push" ? "pushed" : delivery === "pull" ? "pulled" : "nothing to deliver";

export function when(time: string): string {
  const t = new Date(time);
  return Number.isNaN(t.getTime()) || t.getFullYear() < 1971 ? "-" : t.toLocaleString();
}
