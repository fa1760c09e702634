// When a program will converge, judged by the trend of its aggregators.

import type { Job, Step } from "./api";
import * as format from "./format";

const newest = 12; // supersteps of the trend
const least = 5; // fewer give no trend
const fit = 0.9; // least share of the variance that the trend explains

export interface Series {
  name: string;
  /** values by superstep; missing where the superstep has no such aggregator */
  values: (number | undefined)[];
}

/** seriesOf returns the aggregators that have different values in the supersteps, by name. */
export function seriesOf(steps: Step[]): Series[] {
  const all = new Map<string, (number | undefined)[]>();
  steps.forEach((s, i) => {
    for (const { name, value } of s.aggregators ?? []) {
      if (!all.has(name)) all.set(name, new Array<undefined>(steps.length).fill(undefined));
      all.get(name)![i] = value;
    }
  });
  const differ = (values: (number | undefined)[]) => new Set(values.filter((v) => v !== undefined)).size > 1;
  return [...all].filter(([, values]) => differ(values)).map(([name, values]) => ({ name, values }));
}

interface Trend {
  name: string;
  target: number;
  /** the number of supersteps until the target: the most probable one, and a range */
  left: number;
  low: number;
  high: number;
  quality: number;
}

/**
 * trendOf fits a geometric decrease to the newest values: a line through their logarithms (least
 * squares). It returns nothing unless the values fall towards the target on such a line. The range
 * has the slope's standard error, twice in both directions.
 */
function trendOf({ name, values }: Series, target: number): Trend | undefined {
  const logs = values.slice(-newest).map((v) => Math.log(v ?? 0));
  const n = logs.length;
  if (n < least || !logs.every(Number.isFinite) || logs.at(-1)! <= Math.log(target)) return undefined;
  const mean = logs.reduce((a, b) => a + b, 0) / n;
  const middle = (n - 1) / 2;
  const [xx, xy, yy] = logs.reduce(([a, b, c], y, x) => [a! + (x - middle) ** 2, b! + (x - middle) * (y - mean), c! + (y - mean) ** 2], [0, 0, 0]) as [number, number, number];
  const slope = xy / xx;
  const quality = yy > 0 ? (slope * xy) / yy : 0;
  if (slope >= 0 || quality < fit) return undefined;
  const error = 2 * Math.sqrt((yy - slope * xy) / (n - 2) / xx) || 0;
  const supersteps = (by: number) => (by < 0 ? Math.ceil((Math.log(target) - (mean + slope * (n - 1 - middle))) / by) : Infinity);
  const atLeastOne = (x: number) => Math.max(x, 1);
  return { name, target, left: atLeastOne(supersteps(slope)), low: atLeastOne(supersteps(slope - error)), high: atLeastOne(supersteps(slope + error)), quality };
}

/**
 * convergence says when a running job is expected to converge, and how sure that is. The target of
 * an aggregator is the program's parameter tolerance, by default if it is not given. For counts it is 1. It returns nothing without
 * a trend.
 */
export function convergence(job: Job, steps: Step[]): string | undefined {
  const recent = steps.slice(-newest);
  const tolerance = Number(job.parameters?.["tolerance"] ?? job.defaults?.["tolerance"]);
  const trends = seriesOf(recent).flatMap((s) => {
    const counts = s.values.every((v) => v === undefined || Number.isInteger(v));
    const target = counts ? 1 : tolerance;
    return (target > 0 && trendOf(s, target)) || [];
  });
  const best = trends.reduce<Trend | undefined>((a, b) => (a && a.quality >= b.quality ? a : b), undefined);
  if (!best) return undefined;
  const each = recent.reduce((sum, s) => sum + s.seconds.total, 0) / recent.length;
  const range = best.high === Infinity ? `at least ${format.exact(best.low)}` : best.low === best.high ? "very sure" : `probably ${format.exact(best.low)} to ${format.exact(best.high)}`;
  return `By the trend of ${best.name} over ${recent.length} supersteps, it falls below ${best.target} in about ${format.exact(best.left)} ${best.left === 1 ? "superstep" : "supersteps"} (${range}), ${format.left(best.left * each)}.`;
}
