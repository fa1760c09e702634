// The list of workers, and one worker with its usage over the last minutes.

import type uPlot from "uplot";
import { api, type LogLine, type Usage, type Worker, type WorkerDetail } from "./api";
import { Fact } from "./decision";
import * as format from "./format";
import { useLive, useRepeated } from "./live";
import { axis, Plot } from "./plot";
import { link } from "./route";
import { colors } from "./theme";

export function Workers() {
  const [workers] = useRepeated<Worker[]>(api.workers);
  const { about } = useLive();
  return (
    <section class="panel">
      <h2>Workers <small>processes that have partitions</small></h2>
      {workers?.length === 0 && <p class="quiet">There are none.</p>}
      {workers && workers.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="List of workers">
          <table>
            <thead>
              <tr>
                <th scope="col">worker</th><th scope="col">state</th><th scope="col">site</th><th scope="col">address</th>
                <th scope="col" class="n">threads</th><th scope="col" class="n">memory used</th><th scope="col" class="n">of</th><th scope="col" class="n">heard</th>
              </tr>
            </thead>
            <tbody>
              {workers.map((w) => (
                <tr key={w.name}>
                  <td>{about.kind === "master" ? <a href={link("workers", w.name)}>{w.name}</a> : w.name}</td>
                  <td>{w.reason ? `${w.state}: ${w.reason}` : w.state}</td><td>{w.site ?? "-"}</td><td>{w.address ?? "-"}</td>
                  <td class="n">{w.threads}</td><td class="n">{format.bytes(w.memory_used)}</td><td class="n">{format.bytes(w.memory)}</td>
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

/** Curve is one or two figures over the last minutes. A figure is a total, or its growth per second. */
interface Curve {
  title: string;
  says: (v: number) => string;
  /** the numbers of the axis, if they are shorter */
  ticks?: (v: number) => string;
  series: { name: string; of: keyof Usage; total?: boolean }[];
}

const rate = (v: number) => `${format.bytes(v)}/s`;
const curves: Curve[] = [
  { title: "Processors", says: (v) => v.toFixed(v < 10 ? 1 : 0), series: [{ name: "busy", of: "processor_seconds" }, { name: "garbage collection", of: "collection_seconds" }] },
  { title: "Waiting", says: (v) => `${Math.round(100 * v)} %`, series: [{ name: "for other workers", of: "wait_seconds" }] },
  { title: "Memory", says: format.bytes, series: [{ name: "used", of: "memory_used", total: true }, { name: "spilled to files", of: "spilled", total: true }] },
  { title: "Network", says: rate, ticks: format.bytes, series: [{ name: "sent", of: "sent_bytes" }, { name: "received", of: "received_bytes" }] },
];

/** WorkerPage shows one worker of a cluster. */
export function WorkerPage({ name }: { name: string }) {
  const [detail, , error] = useRepeated<WorkerDetail>(() => api.worker(name));
  const { log } = useLive();
  if (!detail) return error ? <p class="bad" role="alert">{error.message}</p> : <p class="quiet">Loading…</p>;
  const { worker, usage, graphs, jobs } = detail;
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
        {usage.length < 3 ? <p class="quiet">Its curves begin in a few seconds.</p> : (
          <div class="curves">{curves.map((c) => <Small curve={c} usage={usage} key={c.title} />)}</div>
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
function Small({ curve, usage }: { curve: Curve; usage: Usage[] }) {
  const at = (u: Usage) => u.at_seconds ?? 0;
  const first = at(usage[0]!);
  const pairs = usage.slice(1).map((u, i): [Usage, Usage] => [usage[i]!, u]);
  const figures = curve.series.map(({ of, total }) =>
    pairs.map(([a, b]) => (total ? (b[of] ?? 0) : Math.max((b[of] ?? 0) - (a[of] ?? 0), 0) / Math.max(at(b) - at(a), 0.1))),
  );
  const x = pairs.map(([, b]) => at(b) - first);
  const now = curve.series.map((s, k) => `${s.name} ${curve.says(figures[k]!.at(-1)!)}`).join(", ");
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
