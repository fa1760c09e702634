// The colours of the style sheet, for drawing on canvases. They follow the theme.

export type Theme = "auto" | "light" | "dark";

const key = "superstep-theme";
const listeners = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");

export const phases = ["expand", "traverse", "fold", "compute", "wait", "other"] as const;
export type Phase = (typeof phases)[number];

export interface Colors {
  text: string;
  faint: string;
  grid: string;
  panel: string;
  push: string;
  mirrored: string;
  pull: string;
  none: string;
  mark: string;
  bad: string;
  phase: Record<Phase, string>;
  /** the two ends of a heat map's scale, as red, green and blue */
  cold: [number, number, number];
  hot: [number, number, number];
}

let cached: Colors | undefined;

export function colors(): Colors {
  if (cached) return cached;
  const style = getComputedStyle(document.documentElement);
  const get = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const rgb = (name: string): [number, number, number] => {
    const n = Number.parseInt(get(name).slice(1), 16);
    return [n >> 16, (n >> 8) & 255, n & 255];
  };
  cached = {
    text: get("text"),
    faint: get("faint"),
    grid: get("grid"),
    panel: get("panel"),
    push: get("push"),
    mirrored: get("mirrored"),
    pull: get("pull"),
    none: get("none"),
    mark: get("mark"),
    bad: get("bad"),
    phase: Object.fromEntries(phases.map((p) => [p, get(p)])) as Record<Phase, string>,
    cold: rgb("cold"),
    hot: rgb("hot"),
  };
  return cached;
}

function changed() {
  cached = undefined;
  for (const f of listeners) f();
}

dark.addEventListener("change", changed);

export function theme(): Theme {
  const t = localStorage.getItem(key);
  return t === "light" || t === "dark" ? t : "auto";
}

export function setTheme(t: Theme): void {
  localStorage.setItem(key, t);
  apply();
  changed();
}

export function apply(): void {
  const t = theme();
  if (t === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = t;
}

/**
 * onTheme calls f after every change of the colours, until the caller calls the returned function.
 */
export function onTheme(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export const colorOf = (delivery: string): string => {
  const c = colors();
  return delivery === "push" ? c.push : delivery === "pull" ? c.pull : c.none;
};

type SchemeColor = "push" | "mirrored" | "pull" | "none";

const schemeColors = new Map<string, SchemeColor>([["naive", "push"], ["mirrored", "mirrored"], ["lalp", "mirrored"], ["pull", "pull"]]);

/** schemeColor returns the name of a scheme's colour, in Colors and in the style sheet. */
export const schemeColor = (scheme: string): SchemeColor => schemeColors.get(scheme) ?? "none";

/** named returns the CSS value of a colour, which follows the theme by itself. */
export const named = (name: string): string => `var(--${name})`;
