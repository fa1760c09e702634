// The work of the partitions: bars of their times, heat maps over time, and the bytes between them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Detail, type Lanes, type Partition, type Step, type Whole } from "./api";
import { Canvas, cells } from "./canvas";
import * as format from "./format";
import { left, right } from "./plot";
import { Readout } from "./readout";
import { PairTable, PartitionTable } from "./tables";
import { Legend } from "./timeline";
import { colors, type Phase, phases } from "./theme";

export interface Bar {
  partition: number;
  worker: string;
  times: Record<Phase, number>;
  busy: number;
  edges: number;
  active: number;
  sent: number;
  bytes: number;
}

interface Props {
  job: string;
  steps: Step[];
  version: number;
  running: boolean;
  selected: number | undefined;
  onSelect: (superstep: number) => void;
}

const refreshEvery = 2000; // milliseconds, for a running job

/** useRead reads a value again after a change of a key and, if again is true, periodically. */
function useRead<T>(read: () => Promise<T>, keys: unknown[], again: boolean): T | undefined {
  const [got, set] = useState<{ of: string; value: T | undefined }>({ of: "", value: undefined });
  const key = JSON.stringify(keys);
  const current = useRef(read);
  current.current = read;
  useEffect(() => {
    let gone = false;
    const ask = () =>
      current.current().then(
        (value) => gone || set({ of: key, value }),
        () => gone || set((old) => (old.of === key ? old : { of: key, value: undefined })),
      );
    void ask();
    const timer = again ? setInterval(() => document.hidden || void ask(), refreshEvery) : undefined;
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [key, again]);
  return got.value;
}

export function Partitions({ job, steps, running, selected, onSelect }: Props) {
  const whole = useRead(() => api.whole(job), [job, running], running);
  // The number of cells is limited. More would take long to read, and each would be smaller than a
  // pixel.
  const columns = Math.min(Math.max(Math.floor(40_000 / (whole?.totals.length || 1)), 50), 1000);
  const lanes = useRead(() => api.lanes(job, columns), [job, running, columns], running);
  const detail = useRead<Detail | undefined>(
    () => (selected === undefined ? Promise.resolve(undefined) : api.detail(job, selected)),
    [job, selected],
    false,
  );
  const of = selected === undefined ? "the whole run" : `superstep ${selected}`;
  const bars = useMemo(
    () => (selected === undefined ? whole?.totals.map(bar) : detail?.partitions.map(bar)),
    [whole, detail, selected],
  );
  if (!whole || whole.totals.length === 0) return null;
  const pairs = detail ? of : "the whole run";
  const several = whole.totals.length > 1;
  const workers = whole.totals.map((p) => p.worker ?? "");
  return (
    <>
      <section class="panel" aria-label="Partitions">
        <h2>
          Partitions <small>{of}</small>
        </h2>
        {selected === undefined && <Slow totals={whole.totals} lanes={lanes} />}
        {bars ? <Bars bars={bars} /> : <p class="quiet">The details of superstep {selected} are not kept. A trace (--trace FILE) has all.</p>}
        {bars && <PartitionTable bars={bars} />}
      </section>
      {several && lanes && lanes.columns > 0 && (
        <LanePanel lanes={lanes} workers={workers} steps={steps} onSelect={onSelect} />
      )}
      {several && (
        <section class="panel" aria-label="Bytes between partitions">
          <h2>
            Bytes between partitions <small>{pairs}</small>
          </h2>
          <PairMap whole={whole} workers={workers} partitions={detail?.partitions} of={pairs} />
        </section>
      )}
    </>
  );
}

/**
 * Slow names the worker that the others wait for, since when, and the cause: its machine or its
 * share of the edges.
 */
function Slow({ totals, lanes }: { totals: Partition[]; lanes: Lanes | undefined }) {
  const text = useMemo(() => slow(totals.map(bar), lanes), [totals, lanes]);
  return text ? <p class="sentence" role="note">{text}</p> : null;
}

const much = 1.3; // times the others; smaller ratios are not reported

function slow(bars: Bar[], lanes: Lanes | undefined): string | undefined {
  const workers = [...new Set(bars.map((b) => b.worker))];
  if (workers.length < 2) return undefined;
  const mean = (some: Bar[], of: (b: Bar) => number) => some.reduce((sum, b) => sum + of(b), 0) / some.length;
  const of = workers.map((worker) => {
    const [own, others] = [bars.filter((b) => b.worker === worker), bars.filter((b) => b.worker !== worker)];
    const [busy, usual] = [mean(own, (b) => b.busy), mean(others, (b) => b.busy)];
    const share = mean(own, (b) => b.edges) / mean(others, (b) => b.edges);
    return { worker, own, others, cost: busy - usual, times: busy / usual, share };
  });
  const w = of.reduce((a, b) => (b.cost > a.cost ? b : a));
  if (!(w.times >= much) || !Number.isFinite(w.times) || w.cost < 1e-3 || !Number.isFinite(w.share) || w.share <= 0) return undefined;
  const each = w.times / w.share;
  const when = since(w.own, w.others, lanes);
  const cost = `${when}, cost ${format.seconds(w.cost)}`;
  if (each >= much && each >= w.share) return `${w.worker} takes ${each.toFixed(1)} times as long per edge${cost}: the machine, not its share of edges.`;
  return `${w.worker} walks ${w.share.toFixed(1)} times the edges of the others${cost}: its share of edges, not the machine.`;
}

/**
 * since names the superstep from which on the partitions in own worked longer than the others. It
 * returns nothing if that is the first superstep.
 */
function since(own: Bar[], others: Bar[], lanes: Lanes | undefined): string {
  if (!lanes || lanes.columns < 2) return "";
  const busy = (some: Bar[], column: number) => some.reduce((sum, b) => sum + Math.max(lanes.busy[b.partition * lanes.columns + column] ?? 0, 0), 0) / some.length;
  let column = lanes.columns;
  while (column > 0 && busy(own, column - 1) > 0 && busy(own, column - 1) >= much * busy(others, column - 1)) column--;
  return column > 0 && column < lanes.columns ? ` since superstep ${lanes.from + column * lanes.every}` : "";
}

function bar(p: Partition): Bar {
  const t = p.seconds;
  const busy = t.expand + t.traverse + t.fold + t.compute;
  return {
    partition: p.partition,
    worker: p.worker ?? "",
    times: { ...t, other: Math.max(0, t.total - busy - t.wait) },
    busy,
    edges: p.edges,
    active: p.active,
    sent: p.messages_sent,
    bytes: p.bytes,
  };
}

/** Bars shows the time of each partition by phase. A check box sorts the slowest partition first. */
function Bars({ bars }: { bars: Bar[] }) {
  const [bySpeed, setBySpeed] = useState(false);
  const [at, setAt] = useState<number>();
  const shown = useMemo(() => (bySpeed ? bars.toSorted((a, b) => b.busy - a.busy) : bars), [bars, bySpeed]);
  const mean = bars.reduce((sum, b) => sum + b.busy, 0) / bars.length;
  const slowest = bars.reduce((a, b) => (b.busy > a.busy ? b : a));
  const ratio = mean > 0 ? slowest.busy / mean : 1;
  const line = Math.min(Math.max(Math.floor(520 / shown.length), 2), 22);
  const height = line * shown.length + 4;
  const pointed = at === undefined ? undefined : shown[at];
  const text = pointed ?? slowest;
  const move = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -shown.length, End: shown.length }[e.key];
    if (by === undefined) return;
    e.preventDefault();
    setAt(Math.min(Math.max((at ?? -1) + by, 0), shown.length - 1));
  };
  return (
    <>
      <p class="sentence">
        {bars.length === 1 ? (
          "There is one partition."
        ) : (
          <>
            Partition {called(slowest.partition, slowest.worker)} worked longest, <b class={ratio > 1.5 ? "bad" : ""}>{ratio.toFixed(2)}× the mean</b>
            {ratio > 1.5 ? ": the others waited for it." : "."}
          </>
        )}
      </p>
      <div class="row">
        <Legend items={phases.map((p) => [p, p, "box"])} />
        {bars.length > 1 && (
          <label>
            <input type="checkbox" checked={bySpeed} onChange={(e) => setBySpeed(e.currentTarget.checked)} /> slowest first
          </label>
        )}
      </div>
      <Canvas
        label={`Time by phase of ${bars.length} partitions. Partition ${called(slowest.partition, slowest.worker)} worked longest, ${ratio.toFixed(2)} times the mean.`}
        height={height}
        on={[shown]}
        mark={pointed && { left: `${left - 2}px`, width: `calc(100% - ${left + right - 4}px)`, top: `${at! * line - 2}px`, height: `${Math.max(line, 3) + 2}px` }}
        onPoint={(_x, y) => setAt(Math.min(Math.floor((y * height) / line), shown.length - 1))}
        onLeave={() => setAt(undefined)}
        onKey={move}
        draw={(g, width) => {
          const c = colors();
          const most = Math.max(...shown.map((b) => phases.reduce((sum, p) => sum + b.times[p], 0))) || 1;
          const scale = (width - left - right) / most;
          g.font = "11px system-ui, sans-serif";
          g.textAlign = "right";
          g.textBaseline = "middle";
          shown.forEach((b, i) => {
            let x = left;
            const y = i * line;
            for (const p of phases) {
              const w = b.times[p] * scale;
              g.fillStyle = c.phase[p];
              g.fillRect(x, y, w, line > 4 ? line - 2 : line);
              x += w;
            }
            if (line >= 12 || i % Math.ceil(14 / line) === 0) {
              g.fillStyle = c.faint;
              g.fillText(label(b.partition, b.worker), left - 8, Math.max(y + line / 2, 6), left - 8);
            }
          });
          const x = left + mean * scale;
          g.fillStyle = c.text;
          g.fillRect(x, 0, 1, height);
        }}
      />
      <Readout text={`Partition ${said(text)}. The line is the mean at work.`} />
    </>
  );
}

/** called returns the name of a partition with the name of its worker. */
const called = (partition: number, worker: string | undefined): string => (worker ? `${partition} of ${worker}` : `${partition}`);

/** label is a shorter form of called. */
const label = (partition: number, worker: string | undefined): string => (worker ? `${worker}: ${partition}` : `${partition}`);

const said = (b: Bar): string => {
  const times = phases.filter((p) => b.times[p] > 0).map((p) => `${p} ${format.seconds(b.times[p])}`);
  return `${called(b.partition, b.worker)}: worked ${format.seconds(b.busy)} (${times.join(", ")}), ${format.count(b.edges)} edges, ${format.bytes(b.bytes)} sent`;
};

interface LaneProps {
  lanes: Lanes;
  workers: string[];
  steps: Step[];
  onSelect: (superstep: number) => void;
}

/**
 * LanePanel shows a lane for each worker if workers have several partitions, and otherwise, or on
 * request, a lane for each partition.
 */
function LanePanel({ lanes, workers, steps, onSelect }: LaneProps) {
  const [each, setEach] = useState(false);
  const names = useMemo(() => [...new Set(workers)].sort(), [workers.join()]);
  const several = names.length > 1 && names.length < workers.length;
  const together = several && !each;
  const shown = useMemo(() => (together ? ofWorkers(lanes, workers, names) : lanes), [lanes, names, together]);
  return (
    <section class="panel" aria-label="Lanes">
      <h2>
        {together ? "Workers" : "Lanes"} <small>how much of the time each {together ? "worker's partitions" : "partition"} worked; click a superstep to choose it</small>
      </h2>
      {several && (
        <label>
          <input type="checkbox" checked={each} onChange={(e) => setEach(e.currentTarget.checked)} /> each partition
        </label>
      )}
      <LaneMap key={String(together)} lanes={shown} rows={together ? names : workers.map((w, i) => label(i, w))} kind={together ? "Worker" : "Partition"} steps={steps} onSelect={onSelect} />
    </section>
  );
}

/** ofWorkers returns a lane for each worker, with the means over its partitions. */
function ofWorkers(lanes: Lanes, workers: string[], names: string[]): Lanes {
  const busy = names.flatMap((name) => {
    const own = workers.flatMap((w, i) => (w === name ? [i] : []));
    return Array.from({ length: lanes.columns }, (_, column) => {
      const known = own.map((i) => lanes.busy[i * lanes.columns + column] ?? -1).filter((v) => v >= 0);
      return known.length > 0 ? known.reduce((a, b) => a + b, 0) / known.length : -1;
    });
  });
  return { ...lanes, partitions: names.length, busy };
}

type LaneMapProps = Omit<LaneProps, "workers"> & { rows: string[]; kind: "Worker" | "Partition" };

function LaneMap({ lanes, rows, kind, steps, onSelect }: LaneMapProps) {
  const [at, setAt] = useState<[number, number]>();
  const line = Math.min(Math.max(Math.floor(400 / lanes.partitions), 1), 18);
  const height = Math.max(line * lanes.partitions, 40);
  const superstep = (column: number) => lanes.from + column * lanes.every;
  const busy = (column: number, row: number) => lanes.busy[row * lanes.columns + column] ?? -1;
  const clamp = (x: number, most: number) => Math.min(Math.max(x, 0), most - 1);
  const column = (x: number, width: number) => clamp(Math.floor(((x * width - left) / (width - left - right)) * lanes.columns), lanes.columns);
  const host = useRef<HTMLDivElement>(null);
  const where = (x: number, y: number): [number, number] => [
    column(x, host.current!.clientWidth),
    clamp(Math.floor(y * lanes.partitions), lanes.partitions),
  ];
  const keys = (e: KeyboardEvent) => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
    if (e.key === "Enter" && at) onSelect(superstep(at[0]));
    if (!by) return;
    e.preventDefault();
    const [c, r] = at ?? [0, -1];
    setAt([clamp(c + by[0]!, lanes.columns), clamp(r + by[1]!, lanes.partitions)]);
  };
  const value = at && busy(...at);
  return (
    <div ref={host}>
      <Canvas
        label={`How busy ${lanes.partitions} ${kind.toLowerCase()}s were in supersteps ${lanes.from} to ${steps.at(-1)?.superstep ?? lanes.from}`}
        height={height}
        on={[lanes]}
        mark={at && {
          left: `calc(${left - 2}px + ${at[0] / lanes.columns} * (100% - ${left + right}px))`, width: `calc(${1 / lanes.columns} * (100% - ${left + right}px) + 4px)`,
          top: `${(at[1] * height) / lanes.partitions - 2}px`, height: `${height / lanes.partitions + 4}px`,
        }}
        onPoint={(x, y) => setAt(where(x, y))}
        onLeave={() => setAt(undefined)}
        onPress={(x, y) => onSelect(superstep(where(x, y)[0]))}
        onKey={keys}
        draw={(g, width) => {
          const c = colors();
          const box = { x: left, y: 0, width: width - left - right, height };
          cells(g, box, lanes.columns, lanes.partitions, (col, row) => {
            const v = busy(col, row);
            return v < 0 ? -1 : (v * 2.55) | 0;
          });
          g.font = "11px system-ui, sans-serif";
          g.textAlign = "right";
          g.textBaseline = "middle";
          g.fillStyle = c.faint;
          const each = Math.ceil(14 / (height / lanes.partitions));
          for (let r = 0; r < lanes.partitions; r += each) g.fillText(rows[r] ?? "", left - 8, Math.max(((r + 0.5) * height) / lanes.partitions, 6), left - 8);
        }}
      />
      <Scale from="idle" to="busy" />
      <Readout
        text={at
          ? `${kind} ${rows[at[1]]}, superstep ${superstep(at[0])}${lanes.every > 1 ? ` to ${superstep(at[0]) + lanes.every - 1}` : ""}: ${value === -1 ? "not kept" : `worked ${Math.round(value ?? 0)} % of the time`}`
          : `In a faint column, all wait. If a line is fainter than the others, that ${kind.toLowerCase()} has less to do.`}
      />
    </div>
  );
}

function Scale({ from, to }: { from: string; to: string }) {
  return (
    <p class="scale">
      {from} <i /> {to}
    </p>
  );
}

function PairMap({ whole, workers, partitions, of }: { whole: Whole; workers: string[]; partitions: Partition[] | undefined; of: string }) {
  const [at, setAt] = useState<[number, number]>();
  const { side, per, summed } = whole.matrix;
  const bytes = useMemo(() => {
    if (!partitions) return whole.matrix.bytes;
    const sums = new Array<number>(side * side).fill(0);
    for (const from of partitions)
      for (const to of from.peers ?? []) {
        const cell = Math.floor(from.partition / per) * side + Math.floor(to.partition / per);
        sums[cell] = (sums[cell] ?? 0) + to.bytes;
      }
    return sums;
  }, [whole, partitions]);
  const most = useMemo(() => bytes.reduce((a, b) => Math.max(a, b), 0), [bytes]);
  const size = 360;
  const host = useRef<HTMLDivElement>(null);
  const clamp = (x: number) => Math.min(Math.max(Math.floor(x), 0), side - 1);
  const box = (width: number) => ({ x: 40, y: 18, width: Math.min(width - 44, size - 22), height: size - 22 });
  const where = (x: number, y: number): [number, number] => {
    const width = host.current!.clientWidth;
    const b = box(width);
    return [clamp(((x * width - b.x) / b.width) * side), clamp(((y * size - b.y) / b.height) * side)];
  };
  const keys = (e: KeyboardEvent) => {
    const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
    if (!by) return;
    e.preventDefault();
    const [to, from] = at ?? [0, 0];
    setAt([clamp(to + by[0]!), clamp(from + by[1]!)]);
  };
  const group = (i: number) => (per === 1 ? called(i, workers[i]) : `${i * per}-${(i + 1) * per - 1}`);
  return (
    <div class="pairs">
      {!summed && (
        <div ref={host} class="matrix">
          <Canvas
            label={`Bytes from each of ${side * per} partitions to each other in ${of}; the most between two is ${format.bytes(most)}`}
            height={size}
            on={[bytes]}
            mark={at && {
              left: `calc(38px + ${at[0] / side} * min(100% - 44px, ${size - 22}px))`, width: `calc(${1 / side} * min(100% - 44px, ${size - 22}px) + 4px)`,
              top: `${16 + (at[1] * (size - 22)) / side}px`, height: `${(size - 22) / side + 4}px`,
            }}
            onPoint={(x, y) => setAt(where(x, y))}
            onLeave={() => setAt(undefined)}
            onKey={keys}
            draw={(g, width) => {
              const c = colors();
              const b = box(width);
              cells(g, b, side, side, (to, from) => {
                const x = bytes[from * side + to] ?? 0;
                return x > 0 ? (255 * Math.sqrt(x / most)) | 0 : to === from ? -1 : 0;
              });
              g.font = "11px system-ui, sans-serif";
              g.fillStyle = c.faint;
              g.textBaseline = "middle";
              g.textAlign = "center";
              g.fillText("to →", b.x + b.width / 2, 8);
              g.textAlign = "left";
              g.fillText("from ↓", 0, 8);
              g.textAlign = "right";
              const each = Math.ceil(14 / (b.height / side));
              for (let i = 0; i < side; i += each) g.fillText(String(i * per), b.x - 6, b.y + ((i + 0.5) * b.height) / side);
            }}
          />
          <Scale from="0 B" to={format.bytes(most)} />
        </div>
      )}
      <div class="beside">
        <Readout
          text={summed
            ? "There are too many partitions to show each pair. The table of partitions above shows how many bytes each partition sent."
            : at
            ? `From ${group(at[1])} to ${group(at[0])}: ${format.bytes(bytes[at[1] * side + at[0]] ?? 0)}`
            : "A stronger colour means more bytes, by their square root. A strong line is a partition that sends much; a strong column is one that receives much."}
        />
        <table>
          <caption>Columns by how they are written, in the whole run</caption>
          <thead>
            <tr>
              <th scope="col">exchange</th>
              <th scope="col">encoding</th>
              <th scope="col" class="n">columns</th>
              <th scope="col" class="n">values</th>
              <th scope="col" class="n">bytes</th>
            </tr>
          </thead>
          <tbody>
            {whole.encoded.map((e) => (
              <tr key={`${e.exchange} ${e.encoding}`}>
                <td>{e.exchange || "all"}</td>
                <td>{e.encoding || "not told (--trace)"}</td>
                <td class="n">{format.count(e.columns)}</td>
                <td class="n">{format.count(e.messages)}</td>
                <td class="n">{format.bytes(e.bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {!summed && <PairTable bytes={bytes} side={side} group={group} />}
      </div>
    </div>
  );
}
