// The list of workers, and one worker with its usage over the last minutes.

import type uPlot from "uplot";
import { api, type LogLine, type Recent, type Worker, type WorkerDetail } from "./api";
import { Fact } from "./decision";
import * as format from "./format";
import { useLive, useRepeated } from "./live";
import { axis, Plot } from "./plot";
import { link } from "./route";
import { colors } from "./theme";

export function Workers() {
  const [workers] = useRepeated<Worker[]>(api.workersAndCurves);
  const { about } = useLive();
  const master = about.kind === "master";
  const greatest = curves.map((c) => workers?.reduce((n, w) => Math.max(n, ...c.series.flatMap((s) => w.recent?.[s.of] ?? [])), 1) ?? 1);
  return (
    <section class="panel">
      <h2>Workers <small>processes that have partitions</small></h2>
      {workers?.length === 0 && <p class="quiet">There are none.</p>}
      {workers && workers.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="List of workers">
          <table>
            <thead>
              <tr>
                <th scope="col">worker</th><th scope="col">state</th>
                {master && curves.map((c) => <th scope="col" key={c.title}>{c.title.toLowerCase()}</th>)}
                <th scope="col">site</th><th scope="col">address</th>
                <th scope="col" class="n">threads</th>{!master && <th scope="col" class="n">memory used</th>}<th scope="col" class="n">limit of memory</th><th scope="col" class="n">heard</th>
              </tr>
            </thead>
            <tbody>
              {workers.map((w) => (
                <tr key={w.name}>
                  <td>{master ? <a href={link("workers", w.name)}>{w.name}</a> : w.name}</td>
                  <td>{w.reason ? `${w.state}: ${w.reason}` : w.state}</td>
                  {master && curves.map((c, k) => <td key={c.title}><Spark curve={c} recent={w.recent} most={c.most?.(w) || greatest[k]!} /></td>)}
                  <td>{w.site ?? "-"}</td><td>{w.address ?? "-"}</td>
                  <td class="n">{w.threads}</td>{!master && <td class="n">{format.bytes(w.memory_used)}</td>}<td class="n">{format.bytes(w.memory)}</td>
                  <td class="n">{w.heard_seconds > 0 ? `${w.heard_seconds.toFixed(1)} s ago` : "-"}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** Curve is one or two figures over the last minutes. */
interface Curve {
  title: string;
  says: (v: number) => string;
  /** the numbers of the axis, if they are shorter */
  ticks?: (v: number) => string;
  series: { name: string; of: keyof Recent }[];
  /** the end of the scale in a list; otherwise it is the greatest figure of all workers */
  most?: (w: Worker) => number;
}

const rate = (v: number) => `${format.bytes(v)}/s`;
const curves: Curve[] = [
  { title: "Processors", says: (v) => v.toFixed(v < 10 ? 1 : 0), series: [{ name: "busy", of: "processors" }, { name: "garbage collection", of: "collection" }], most: (w) => w.threads },
  { title: "Waiting", says: (v) => `${Math.round(100 * v)} %`, series: [{ name: "for other workers", of: "waiting" }], most: () => 1 },
  { title: "Memory", says: format.bytes, series: [{ name: "used", of: "memory" }, { name: "spilled to files", of: "spilled" }], most: (w) => w.memory },
  { title: "Network", says: rate, ticks: format.bytes, series: [{ name: "sent", of: "sent" }, { name: "received", of: "received" }] },
];

/** says returns the latest figures of a curve as text. */
const says = (c: Curve, of: Recent) => c.series.map((s) => `${s.name} ${c.says(of[s.of].at(-1)!)}`).join(", ");

/** Spark is a curve in a list, up to most. */
function Spark({ curve, recent, most }: { curve: Curve; recent: Recent | undefined; most: number }) {
  if (!recent) return <>-</>;
  const figures = curve.series.map((s) => recent[s.of]);
  const end = recent.seconds.at(-1)!;
  const points = (of: number[]) => of.map((v, i) => `${(96 * recent.seconds[i]!) / end},${23 - 22 * Math.min(v / most, 1)}`).join(" ");
  return (
    <span class="spark">
      <svg viewBox="0 0 96 24" role="img" aria-label={`${curve.title} over the last ${Math.round(end)} seconds: ${says(curve, recent)}`}>
        {figures.map((of, k) => <polyline points={points(of)} class={k > 0 ? "second" : ""} key={k} />)}
      </svg>{" "}
      {curve.says(figures[0]!.at(-1)!)}
    </span>
  );
}

/** WorkerPage shows one worker of a cluster. */
export function WorkerPage({ name }: { name: string }) {
  const [detail, , error] = useRepeated<WorkerDetail>(() => api.worker(name));
  const { log } = useLive();
  if (!detail) return error ? <p class="bad" role="alert">{error.message}</p> : <p class="quiet">Loading…</p>;
  const { worker, graphs, jobs } = detail;
  const lines = log.filter((l) => l.worker === name);
  return (
    <>
      {error && <p class="bad" role="alert">{error.message}</p>}
      <section class="panel">
        <h2>{worker.name} <small>{worker.reason ? `${worker.state}: ${worker.reason}` : worker.state}</small></h2>
        <dl class="facts">
          <Fact name="threads" value={String(worker.threads)} />
          <Fact name="memory used" value={format.bytes(worker.memory_used)} />
          <Fact name="of" value={format.bytes(worker.memory)} />
          {worker.address && <Fact name="address" value={worker.address} />}
          {worker.site && <Fact name="site" value={worker.site} />}
        </dl>
        {(worker.recent?.seconds.length ?? 0) < 2 ? <p class="quiet">Its curves begin in a few seconds.</p> : (
          <div class="curves">{curves.map((c) => <Small curve={c} recent={worker.recent!} key={c.title} />)}</div>
        )}
      </section>
      <section class="panel">
        <h2>Partitions and jobs</h2>
        {graphs.length + jobs.length === 0 && <p class="quiet">It has none.</p>}
        <ul>
          {graphs.map((g) => <li key={g.graph}>{g.graph}: partition{g.partitions.length > 1 ? "s" : ""} {g.partitions.join(", ")}</li>)}
          {jobs.map((j) => <li key={j}><a href={link("job", j)}>{j}</a></li>)}
        </ul>
      </section>
      <section class="panel">
        <h2>Log of {worker.name}</h2>
        {lines.length === 0 && <p class="quiet">Nothing was logged.</p>}
        <Lines of={lines} />
      </section>
    </>
  );
}

/** Small is a small plot of a curve, with its latest figures as text. */
function Small({ curve, recent }: { curve: Curve; recent: Recent }) {
  const x = recent.seconds;
  const figures = curve.series.map((s) => recent[s.of]);
  const now = says(curve, recent);
  const options = () => {
    const c = colors();
    return {
      axes: [axis(), axis(curve.ticks ?? curve.says)],
      scales: { y: { range: (_u: uPlot, _lo: number, hi: number): [number, number] => [0, hi > 0 ? hi * 1.05 : 1] } },
      series: [{}, ...curve.series.map((_s, k) => ({ stroke: k === 0 ? c.pull : c.push, width: 2, points: { show: false }, ...(k > 0 ? { dash: [6, 3] } : {}) }))],
    };
  };
  return (
    <figure>
      <figcaption><h3>{curve.title} <small>{now}</small></h3></figcaption>
      <Plot label={`${curve.title} of the worker over the last ${Math.round(x.at(-1)!)} seconds: ${now}`} height={110} options={options} optionsKey={curve.title} data={[x, ...figures] as uPlot.AlignedData} from={0} to={x.at(-1)!} selected={undefined} width={1} />
    </figure>
  );
}

/** Lines are lines of the log. */
export function Lines({ of }: { of: LogLine[] }) {
  const { about } = useLive();
  return (
    <ol class="log">
      {of.map((l, i) => (
        <li key={i} class={l.level}>
          <time dateTime={l.time}>{format.when(l.time)}</time> <b>{l.level}</b> {l.job && <a href={link("job", l.job)}>{l.job}</a>} {l.worker && about.kind === "master" ? <a href={link("workers", l.worker)}>{l.worker}</a> : l.worker} {l.text}
        </li>
      ))}
    </ol>
  );
}
