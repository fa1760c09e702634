// The data of the charts: a limited number of columns, each of one superstep or of several
// consecutive supersteps.

import type { Step } from "./api";
import type { Series } from "./convergence";

type Line = (number | null)[];

export interface Buckets {
  /** number of supersteps in a column */
  every: number;
  /** the first superstep of each column; x is the column's middle on the axis */
  first: number[];
  x: number[];
  delivery: string[];
  /** share of the column's supersteps that pushed if most pulled, or pulled if most pushed */
  few: number[];
  total: number[];
  expand: number[];
  traverse: number[];
  fold: number[];
  compute: number[];
  wait: number[];
  active: Line;
  senders: Line;
  edges: Line;
  bytes: number[];
  memory: Line;
  pause: number[];
  actual: Line;
  /** by the scheme's index */
  predicted: Line[];
  /** by the aggregator's index: the last value in the column */
  aggregators: Line[];
}

const orNull = (x: number): number | null => (x > 0 ? x : null);

/** schemesOf returns the schemes with predictions in a fixed order, unknown schemes last. */
export function schemesOf(steps: Step[]): string[] {
  const known = ["naive", "mirrored", "lalp", "pull"];
  const found = new Set<string>();
  for (const s of steps) for (const name in s.predicted) found.add(name);
  return [...known.filter((n) => found.has(n)), ...[...found].filter((n) => !known.includes(n)).sort()].slice(0, 8);
}

/**
 * bucket makes columns from the supersteps in steps[from:to]. Times, counts and costs are means
 * over a column.
 */
export function bucket(steps: Step[], from: number, to: number, most: number, schemes: string[], aggregators: Series[]): Buckets {
  const every = Math.max(1, Math.ceil((to - from) / most));
  const b: Buckets = {
    every, first: [], x: [], delivery: [], few: [], total: [], expand: [], traverse: [], fold: [], compute: [], wait: [], active: [], senders: [],
    edges: [], bytes: [], memory: [], pause: [], actual: [], predicted: schemes.map(() => []),
    aggregators: aggregators.map(() => []),
  };
  for (let i = from; i < to; i += every) {
    const end = Math.min(i + every, to);
    const n = end - i;
    const first = steps[i]!;
    const last = steps[end - 1]!;
    let total = 0, expand = 0, traverse = 0, fold = 0, compute = 0, wait = 0, active = 0, senders = 0, edges = 0, bytes = 0, memory = 0;
    let pause = 0, actual = 0, chosen = 0, pushed = 0, pulled = 0;
    const predicted: number[] = schemes.map(() => 0);
    for (let k = i; k < end; k++) {
      const s = steps[k]!;
      const t = s.seconds;
      total += t.total;
      expand += t.expand;
      traverse += t.traverse;
      fold += t.fold;
      compute += t.compute;
      wait += t.wait;
      active += s.active;
      senders += s.senders;
      edges += s.edges;
      bytes += s.bytes;
      pause += s.gc_pause;
      memory = Math.max(memory, s.memory ?? 0);
      if (s.delivery === "push") pushed++;
      if (s.delivery === "pull") pulled++;
      if (s.predicted) {
        chosen++;
        actual += s.actual ?? 0;
        const guess = s.predicted;
        for (let at = 0; at < schemes.length; at++) {
          const x = guess[schemes[at]!];
          if (typeof x === "number") predicted[at]! += x;
        }
      }
    }
    b.first.push(first.superstep);
    b.x.push((first.superstep + last.superstep) / 2);
    b.delivery.push(pushed === 0 && pulled === 0 ? "none" : pushed >= pulled ? "push" : "pull");
    b.few.push(Math.min(pushed, pulled) / n);
    b.total.push(total / n);
    b.expand.push(expand / n);
    b.traverse.push(traverse / n);
    b.fold.push(fold / n);
    b.compute.push(compute / n);
    b.wait.push(wait / n);
    b.active.push(orNull(active / n));
    b.senders.push(orNull(senders / n));
    b.edges.push(orNull(edges / n));
    b.bytes.push(bytes / n);
    b.memory.push(orNull(memory));
    b.pause.push(pause);
    b.actual.push(chosen ? orNull(actual / chosen) : null);
    aggregators.forEach((s, at) => b.aggregators[at]!.push(s.values.slice(i, end).findLast((v) => v !== undefined) ?? null));
    schemes.forEach((_, at) => b.predicted[at]!.push(chosen ? orNull(predicted[at]! / chosen) : null));
  }
  return b;
}

/** indexOf returns the index of a superstep, or the index at which it belongs. steps is sorted. */
export function indexOf(steps: Step[], superstep: number): number {
  let lo = 0;
  let hi = steps.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (steps[mid]!.superstep < superstep) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
