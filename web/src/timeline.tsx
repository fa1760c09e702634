// The supersteps of a job over time: the chosen delivery, its reason, the amount of work and the
// times.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Step } from "./api";
import { type Buckets, bucket, indexOf, schemesOf } from "./buckets";
import { type Series, seriesOf } from "./convergence";
import { Decision } from "./decision";
import * as format from "./format";
import { outliers } from "./outliers";
import { axis, left, Plot, right } from "./plot";
import { calm, type Drawer, drawer } from "./schedule";
import { StepTable } from "./tables";
import { colorOf, colors, named, onTheme, phases, schemeColor } from "./theme";

const mostColumns = 500;

interface Props {
  steps: Step[];
  /** steps have not been read yet */
  loading: boolean;
  version: number;
  running: boolean;
  /** number of finished supersteps; steps may have fewer */
  ended: number;
  /**
   * the selected superstep; if undefined, the newest of a running job, or the longest of a finished
   * one
   */
  selected: number | undefined;
  onSelect: (superstep: number | undefined) => void;
}

export function Timeline({ steps, loading, version, running, ended, selected, onSelect }: Props) {
  const [zoom, setZoom] = useState<[number, number]>();
  const [hovered, setHovered] = useState<number>();
  const hover = useMemo(() => calm(setHovered), []);
  const [more, setMore] = useState(false);
  const first = steps[0]?.superstep ?? 0;
  const last = steps.at(-1)?.superstep ?? 0;
  const from = zoom ? Math.max(zoom[0], first) : first;
  const to = zoom ? Math.min(zoom[1], last) : last;
  const schemes = useMemo(() => schemesOf(steps), [version]);
  const aggregators = useMemo(() => seriesOf(steps), [version]);
  const b = useMemo(
    () => bucket(steps, indexOf(steps, from), indexOf(steps, to + 1), mostColumns, schemes, aggregators),
    [version, from, to, schemes.join()],
  );
  const odd = useMemo(() => outliers(steps), [version]);
  const data = useMemo(() => plots(b, odd.map((o) => o.step.superstep).filter((s) => s >= from && s <= to)), [b, odd]);
  const shownAt = hovered ?? selected;
  const shown = shownAt === undefined ? (running ? steps.at(-1) : longest(steps)) : steps[Math.min(indexOf(steps, shownAt), steps.length - 1)];
  if (!shown) return <p class="quiet">{loading ? "Loading…" : ended > 0 ? "The supersteps are not kept." : `No superstep has ended${running ? " yet" : ""}.`}</p>;

  const pick = (i: number) => b.first[i] !== undefined && onSelect(b.first[i]);
  const move = (by: number) => {
    const i = Math.min(Math.max(indexOf(steps, selected ?? last) + by, 0), steps.length - 1);
    const to = steps[i]!.superstep;
    onSelect(to);
    if (zoom && (to < zoom[0] || to > zoom[1])) setZoom(undefined);
  };
  const narrow = (by: number) => {
    const middle = selected ?? (from + to) / 2;
    const half = Math.max(((to - from + 1) * by) / 2, 2);
    if (half * 2 >= last - first + 1) setZoom(undefined);
    else setZoom([Math.floor(Math.max(first, middle - half)), Math.ceil(Math.min(last, middle + half))]);
  };
  const keys = (e: KeyboardEvent) => {
    const page = Math.max(Math.round((to - from) / 10), 1);
    const act: Record<string, () => void> = {
      ArrowLeft: () => move(-1), ArrowRight: () => move(1), ArrowDown: () => move(-1), ArrowUp: () => move(1), PageUp: () => move(page),
      PageDown: () => move(-page), Home: () => move(-steps.length), End: () => move(steps.length), Escape: () => (zoom ? setZoom(undefined) : onSelect(undefined)),
      "+": () => narrow(0.5), "-": () => narrow(2),
    };
    const f = act[e.key];
    if (!f || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    hover(undefined, true);
    f();
  };
  const plot = {
    from, to, width: b.every, selected: selected === undefined ? undefined : (b.x[columnOf(b, selected)] ?? selected), onPick: pick,
    onHover: (i: number | undefined) => hover(i === undefined ? undefined : b.first[i]),
    onZoom: (lo: number, hi: number) => Math.floor(hi) - Math.ceil(lo) >= 1 && setZoom([Math.max(first, Math.ceil(lo)), Math.min(last, Math.floor(hi))]),
  };
  return (
    <div class="timeline">
      <div
        class="slider"
        role="slider"
        tabIndex={0}
        aria-label="Superstep"
        aria-valuemin={first}
        aria-valuemax={last}
        aria-valuenow={selected ?? last}
        aria-valuetext={describe(steps[Math.min(indexOf(steps, selected ?? last), steps.length - 1)] ?? shown)}
        aria-describedby="timeline-keys"
        onKeyDown={keys}
      >
        <h3>
          What was chosen <small>in each superstep</small>
        </h3>
        <Band b={b} {...plot} />
      </div>
      <p class="hint" id="timeline-keys">
        Arrow keys, or a click, choose a superstep; drag, or + and −, to zoom; Escape to let go.
        {b.every > 1 && ` Each column is ${b.every} supersteps; a low bar beside a high one: fewer of them.`}
        {zoom && (
          <button type="button" onClick={() => setZoom(undefined)}>
            Show all {last - first + 1}
          </button>
        )}
      </p>
      <Decision step={shown} pinned={selected !== undefined && hovered === undefined} />
      <figure>
        <figcaption>
          <h3>
            Why <small>predicted and actual time of delivery: the lowest prediction is chosen; naive, mirrored and lalp push, pull pulls</small>
          </h3>
          <Legend
            items={[...schemes.map((s) => [s, schemeColor(s), dash(s) ? "dash" : "line"] as Item), ["what it took", "text", "dot"]]}
          />
        </figcaption>
        <Plot label={`Predicted and actual time of delivery by superstep. ${describe(shown)}`} height={170} options={() => costs(schemes)} optionsKey={schemes.join()} data={data.costs} tint={b} {...plot} />
      </figure>
      <figure>
        <figcaption>
          <h3>
            Frontier <small>vertices, on a logarithmic scale</small>
          </h3>
          <Legend items={[["senders", "mark", "line"], ["vertices that ran", "faint", "dash"]]} />
        </figcaption>
        <Plot label="Size of the frontier by superstep" height={130} options={frontier} optionsKey="" data={data.frontier} {...plot} />
      </figure>
      {aggregators.map((a, i) => (
        <figure key={a.name}>
          <figcaption>
            <h3>
              {a.name} <small>aggregator{positive(a) && ", on a logarithmic scale"}</small>
            </h3>
          </figcaption>
          <Plot label={`${a.name} by superstep, ${a.values.findLast((v) => v !== undefined)} at the end`} height={110} options={() => total(positive(a))} optionsKey={String(positive(a))} data={data.aggregators[i]!} {...plot} />
        </figure>
      ))}
      <figure>
        <figcaption>
          <h3>
            Time by phase <small>mean of the partitions</small>
          </h3>
          <Legend items={[...phases.map((p) => [p, p, "box"] as Item), ...(odd.length > 0 ? [["stands out", "bad", "ring"] as Item] : [])]} />
        </figcaption>
        <Plot label="Time by phase and superstep" height={170} options={stacked} optionsKey="" data={data.phases} {...plot} />
      </figure>
      {odd.length > 0 && (
        <section aria-label="What stands out">
          <h3>
            What stands out <small>over three times the neighbours' median, or the prediction; ringed above</small>
          </h3>
          <ul class="said">
            {odd.map((o) => (
              <li key={o.step.superstep}>
                <button type="button" class="link" onClick={() => onSelect(o.step.superstep)}>Superstep {o.step.superstep}</button> {o.text}.
              </li>
            ))}
          </ul>
        </section>
      )}
      <details class="more" onToggle={(e) => setMore(e.currentTarget.open)}>
        <summary>Memory and pauses</summary>
        {more && <><figure>
          <figcaption>
            <h3>Resident memory of the processes</h3>
          </figcaption>
          <Plot label="Resident memory by superstep" height={110} options={memory} optionsKey="" data={data.memory} {...plot} />
        </figure>
        <figure>
          <figcaption>
            <h3>Pauses by the garbage collector</h3>
          </figcaption>
          <Plot label="Seconds of garbage collection by superstep" height={110} options={pauses} optionsKey="" data={data.pauses} {...plot} />
        </figure></>}
      </details>
      <StepTable steps={steps} selected={selected} onSelect={onSelect} />
    </div>
  );
}

const describe = (s: Step): string =>
  `Superstep ${s.superstep}: ${format.verb(s.delivery)}, ${format.seconds(s.seconds.total)}, ${format.exact(s.senders)} senders. ${s.reason}`;

/**
 * longest returns the longest of the supersteps with a choice of scheme, or of all supersteps if
 * there was no choice.
 */
function longest(steps: Step[]): Step | undefined {
  const chosen = steps.filter((s) => s.predicted);
  return (chosen.length > 0 ? chosen : steps).reduce<Step | undefined>((most, s) => (most && most.seconds.total >= s.seconds.total ? most : s), undefined);
}

const columnOf = (b: Buckets, superstep: number): number => Math.floor((superstep - (b.first[0] ?? 0)) / b.every);

type Item = [name: string, color: string, shape: "line" | "dash" | "box" | "dot" | "ring"];

export function Legend({ items }: { items: Item[] }) {
  return (
    <ul class="legend">
      {items.map(([name, color, shape]) => (
        <li key={name}>
          <i class={shape} style={{ color: named(color) }} /> {name}
        </li>
      ))}
    </ul>
  );
}

/**
 * plots returns the data of the charts. The chart of the times marks the supersteps in ringed with
 * a ring.
 */
function plots(b: Buckets, ringed: number[]) {
  const sums = [b.expand, b.traverse, b.fold, b.compute, b.wait].reduce<number[][]>((all, phase) => {
    const below = all.at(-1);
    return [...all, phase.map((x, i) => x + (below?.[i] ?? 0))];
  }, []);
  const at = new Set(ringed.map((s) => columnOf(b, s)));
  const whole = b.total.map((x, i) => Math.max(x, sums[4]?.[i] ?? 0));
  return {
    costs: [b.x, ...b.predicted, b.actual] as uPlot.AlignedData,
    frontier: [b.x, b.active, b.senders] as uPlot.AlignedData,
    aggregators: b.aggregators.map((line) => [b.x, line] as uPlot.AlignedData),
    // highest sum first, so that the lower ones cover it
    phases: [b.x, whole, ...sums.toReversed(), whole.map((x, i) => (at.has(i) ? x : null))] as uPlot.AlignedData,
    memory: [b.x, b.memory] as uPlot.AlignedData,
    pauses: [b.x, b.pause] as uPlot.AlignedData,
  };
}

const few = (u: uPlot) => (u.data[0]?.length ?? 0) <= 100;
/** tens keeps only the powers of ten among the ticks of a logarithmic scale. */
const tens = (_u: uPlot, at: number[]) => at.map((v) => (v !== null && Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6) ? v : null));

function sparse(values: (v: number) => string): uPlot.Axis {
  const a = axis(values);
  return { ...a, filter: tens, grid: { ...a.grid, filter: tens }, ticks: { ...a.ticks, filter: tens } };
}

const logs: uPlot.Scale = {
  distr: 3,
  range: (_u, lo, hi) => [10 ** Math.floor(Math.log10(lo || 1)), 10 ** Math.ceil(Math.log10(hi * 1.01 || 10))],
};

/** dash returns the pattern of a scheme's line. Mirrored and lalp share a colour. */
const dash = (scheme: string): number[] | undefined => dashes.get(scheme);
const dashes = new Map([["mirrored", [6, 4]], ["lalp", [2, 3]]]);

function costs(schemes: string[]) {
  const c = colors();
  return {
    axes: [axis(), sparse(format.seconds)],
    scales: { y: logs },
    series: [
      {},
      ...schemes.map((s) => ({ stroke: c[schemeColor(s)], width: 2, points: { show: few, size: 6, fill: c.panel }, dash: dash(s) ?? [] })),
      { width: 0, paths: dots(c.text), points: { show: false } },
    ],
  };
}

function frontier() {
  const c = colors();
  return {
    axes: [axis(), sparse(format.count)],
    scales: { y: logs },
    series: [
      {},
      { stroke: c.faint, width: 1.5, dash: [4, 3], points: { show: few, size: 5 } },
      { stroke: c.mark, width: 2, points: { show: few, size: 6 } },
    ],
  };
}

/** positive reports whether an aggregator's values spread over more than a factor of ten above 0. */
function positive({ values }: Series): boolean {
  const known = values.filter((v) => v !== undefined);
  const least = known.reduce((a, b) => Math.min(a, b), Infinity);
  return least > 0 && known.reduce((a, b) => Math.max(a, b), 0) > 10 * least;
}

const digits = (v: number): string => (Number.isInteger(v) && Math.abs(v) < 1e15 ? format.count(v) : String(Number(v.toPrecision(3))));

function total(logarithmic: boolean) {
  const c = colors();
  return {
    axes: [axis(), logarithmic ? sparse(digits) : axis(digits)],
    scales: { y: logarithmic ? logs : {} },
    series: [{}, { stroke: c.mark, width: 2, points: { show: few, size: 6 }, spanGaps: true }],
  };
}

/**
 * boxes returns a path builder that draws separate rectangles at integer pixels. Without a GPU,
 * circles and paths of hundreds of corners take ten times as long.
 */
const boxes =
  (box: (x: number, y: number, width: number, foot: number) => [x: number, y: number, w: number, h: number]) =>
  (color: string): uPlot.Series.PathBuilder =>
  (u, series, from, to) => {
    const [xs, ys] = [u.data[0], u.data[series]!];
    const width = (u.bbox.width / ((u.scales["x"]!.max ?? 1) - (u.scales["x"]!.min ?? 0))) * (xs.length > 1 ? xs[1]! - xs[0]! : 1);
    const bottom = Math.round(u.bbox.top + u.bbox.height);
    const g = u.ctx;
    g.save();
    g.fillStyle = color;
    for (let i = from; i <= to; i++) {
      const v = ys[i];
      if (v === null || v === undefined) continue;
      // a stacked bar ends where the next series covers it
      const below = u.series[series + 1]?.width === 0 && u.data[series + 1]?.[i];
      const foot = below ? Math.round(u.valToPos(below, "y", true)) : bottom;
      g.fillRect(...box(u.valToPos(xs[i]!, "x", true), Math.round(u.valToPos(v, "y", true)), width, foot));
    }
    g.restore();
    return null;
  };

const dots = boxes((x, y) => {
  const size = 5 * devicePixelRatio;
  return [Math.round(x - size / 2), Math.round(y - size / 2), size, size];
});

const bars = boxes((x, y, width, foot) => {
  const lo = Math.round(x - width / 2);
  const gap = width > 6 ? Math.round(width * 0.08) : 0;
  return [lo, y, Math.max(Math.round(x + width / 2) - lo - gap, 1), foot - y];
});
const upward = { range: (_u: uPlot, _lo: number, hi: number): [number, number] => [0, hi > 0 ? hi * 1.05 : 1] };

function stacked() {
  const c = colors();
  return {
    axes: [axis(), axis(format.seconds)],
    scales: { y: upward },
    series: [
      {},
      ...phases.toReversed().map((p) => ({ width: 0, paths: bars(c.phase[p]), points: { show: false } })),
      { stroke: c.bad, width: 1, paths: () => null, points: { show: true, size: 14, width: 2, fill: "transparent" } },
    ],
  };
}

/** The distances of ticks on the axis of bytes are powers of two. */
const doubling = Array.from({ length: 50 }, (_, k) => 2 ** k);

function memory() {
  const c = colors();
  return {
    axes: [axis(), { ...axis(format.bytes), incrs: doubling }],
    scales: { y: upward },
    series: [{}, { stroke: c.mark, width: 2, fill: `${c.mark}22`, points: { show: false }, spanGaps: true }],
  };
}

function pauses() {
  return {
    axes: [axis(), axis(format.seconds)],
    scales: { y: upward },
    series: [{}, { width: 0, paths: bars(colors().phase.wait), points: { show: false } }],
  };
}

interface BandProps {
  b: Buckets;
  from: number;
  to: number;
  selected: number | undefined;
  onHover: (i: number | undefined) => void;
  onPick: (i: number) => void;
}

const bandHeight = 52;

/**
 * Band shows the chosen delivery: pushes above, pulls below, so that the colours are not needed to
 * tell them apart.
 */
function Band({ b, from, to, selected, onHover, onPick }: BandProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef({ b, from, to, selected });
  latest.current = { b, from, to, selected };
  const drawn = useRef<Drawer>(undefined);
  useEffect(() => {
    const d = drawer(canvas.current!, () => paint(canvas.current!, latest.current));
    drawn.current = d;
    const stop = onTheme(d.ask);
    const size = new ResizeObserver(d.ask);
    size.observe(canvas.current!);
    return () => {
      stop();
      size.disconnect();
      d.stop();
    };
  }, []);
  useEffect(() => drawn.current?.ask(), [b, from, to, selected]);
  const at = (e: MouseEvent): number | undefined => {
    const box = canvas.current!.getBoundingClientRect();
    const x = (e.clientX - box.left - left) / (box.width - left - right);
    const i = columnOf(b, from - 0.5 + x * (to - from + 1) + 0.5);
    return x >= 0 && x <= 1 && i >= 0 && i < b.x.length ? i : undefined;
  };
  return (
    <canvas
      ref={canvas}
      class="band"
      style={{ height: `${bandHeight}px` }}
      onMouseMove={(e) => onHover(at(e))}
      onMouseLeave={() => onHover(undefined)}
      onClick={(e) => {
        const i = at(e);
        if (i !== undefined) onPick(i);
      }}
    />
  );
}

function paint(canvas: HTMLCanvasElement, p: Pick<BandProps, "b" | "from" | "to" | "selected">) {
  if (!canvas) return;
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = width * scale;
  canvas.height = bandHeight * scale;
  const g = canvas.getContext("2d")!;
  g.scale(scale, scale);
  const c = colors();
  const row = bandHeight / 2;
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "right";
  g.fillStyle = c.faint;
  g.fillText("push", left - 8, row / 2);
  g.fillText("pull", left - 8, row * 1.5);
  g.fillStyle = c.grid;
  g.fillRect(left, row - 0.5, width - left - right, 1);
  const unit = (width - left - right) / (p.to - p.from + 1);
  g.textAlign = "center";
  const { first, delivery, few } = p.b;
  for (let i = 0, end = 0; i < first.length; i = end) {
    const kind = delivery[i]!;
    const gap = unit * ((first[i + 1] ?? p.to + 1) - first[i]!) > 6 ? 1 : 0;
    // Consecutive columns of the same kind that are too narrow for a gap are drawn as one
    // rectangle.
    for (end = i + 1; gap === 0 && end < first.length && delivery[end] === kind; ) end++;
    const x = left + (first[i]! - p.from) * unit;
    const w = ((first[end] ?? p.to + 1) - first[i]!) * unit - gap;
    g.fillStyle = colorOf(kind);
    if (kind === "push") g.fillRect(x, 2, w, row - 4);
    else if (kind === "pull") g.fillRect(x, row + 2, w, row - 4);
    else g.fillRect(x, row - 2, w, 4);
    if (gap === 1 && w > 40 && kind !== "none") {
      g.fillStyle = c.panel;
      g.fillText(kind, x + w / 2, kind === "push" ? row / 2 : row * 1.5);
    }
  }
  // The minority of a column stays visible, even if it is one superstep of many.
  few.forEach((share, i) => {
    if (share === 0) return;
    const x = left + (first[i]! - p.from) * unit;
    const w = Math.max(((first[i + 1] ?? p.to + 1) - first[i]!) * unit, 1);
    const h = Math.max(share * (row - 4), 4);
    g.fillStyle = delivery[i] === "push" ? c.pull : c.push;
    if (delivery[i] === "push") g.fillRect(x, row + 2, w, h);
    else g.fillRect(x, row - 2 - h, w, h);
  });
  if (p.selected !== undefined) {
    const x = left + (p.selected - p.from + 0.5 - p.b.every / 2) * unit;
    g.strokeStyle = c.text;
    g.lineWidth = 2;
    g.strokeRect(x, 1, Math.max(p.b.every * unit, 2), bandHeight - 2);
  }
}
