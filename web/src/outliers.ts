// Supersteps that took much longer than predicted, or than their neighbours.

import type { Step } from "./api";
import * as format from "./format";

export interface Outlier {
  step: Step;
  text: string;
}

const far = 3; // times the expected duration
const least = 1e-3; // seconds; shorter times depend on the machine more than on the program
const around = 8; // neighbours on each side
const most = 10; // listed outliers

const median = (all: number[]): number => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

/**
 * outliers returns the supersteps that took more than three times their neighbours' median or their
 * prediction. It returns only the worst, in order.
 */
export function outliers(steps: Step[]): Outlier[] {
  // excess is the time beyond the expected duration, in seconds.
  const found: { i: number; excess: number; usual: number; late: boolean }[] = [];
  const near = (i: number) => [...steps.slice(Math.max(i - around, 0), i), ...steps.slice(i + 1, i + 1 + around)];
  steps.forEach((step, i) => {
    const took = step.seconds.total;
    if (took < least) return;
    const [from, to] = [Math.max(i - around, 0), Math.min(i + 1 + around, steps.length)];
    let shorter = 0;
    for (let k = from; k < to; k++) if (far * steps[k]!.seconds.total < took) shorter++;
    const guess = step.predicted?.[step.scheme] ?? 0;
    const actual = step.actual ?? 0;
    const late = to - from > 4 && 2 * shorter > to - from - 1;
    const wrong = guess > 0 && actual >= least && actual > far * guess;
    if (!late && !wrong) return;
    const usual = late ? median(near(i).map((s) => s.seconds.total)) : 0;
    found.push({ i, excess: Math.max(late ? took - usual : 0, wrong ? actual - guess : 0), usual, late });
  });
  const worst = found.sort((a, b) => b.excess - a.excess).slice(0, most).sort((a, b) => a.i - b.i);
  return worst.map(({ i, excess, usual, late }) => {
    const step = steps[i]!;
    const took = step.seconds.total;
    const than = late ? `${times(took, usual)} its neighbours' median` : `its delivery ${times(step.actual ?? 0, step.predicted?.[step.scheme] ?? 0)} its prediction`;
    return { step, text: `took ${format.seconds(took)}, ${than}: ${cause(step, near(i), excess)}` };
  });
}

const times = (x: number, of: number): string => (of > 0 ? `${(x / of).toFixed(1)} times` : "many times");

/** cause guesses the cause from the record of the superstep. */
function cause(s: Step, near: Step[], excess: number): string {
  if (s.gc_pause > excess / 3) return `the garbage collector paused it for ${format.seconds(s.gc_pause)}`;
  const waited = s.busy.most - s.busy.mean;
  if (waited > excess / 2) return `partition ${s.busy.slowest} worked ${times(s.busy.most, s.busy.mean)} the mean, and the others waited`;
  const edges = median(near.map((n) => n.edges));
  if (near.length > 0 && s.edges > 2 * edges) return `it walked ${edges > 0 ? `${times(s.edges, edges)} as many edges` : `${format.count(s.edges)} edges`}`;
  const bytes = median(near.map((n) => n.bytes));
  if (near.length > 0 && s.bytes > 2 * bytes) return `it sent ${bytes > 0 ? `${times(s.bytes, bytes)} as many bytes` : format.bytes(s.bytes)}`;
  return "its work was as usual: the machine or other programs on it slowed it down";
}
