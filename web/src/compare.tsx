// Two jobs, superstep by superstep.

import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { api, type Job, type Step } from "./api";
import { Fact } from "./decision";
import * as format from "./format";
import { usePage } from "./live";
import { axis, Plot } from "./plot";
import { Readout } from "./readout";
import { go, link } from "./route";
import { Table } from "./tables";
import { colors } from "./theme";
import { Legend } from "./timeline";

interface Both {
  superstep: number;
  a: Step | undefined;
  b: Step | undefined;
}

export function Compare({ a, b }: { a: string; b: string }) {
  const newest = usePage({ sort: "-", limit: "200" })?.items ?? [];
  const [chosen, setChosen] = useState<Job[]>([]);
  const [steps, setSteps] = useState<{ a: Step[]; b: Step[] }>({ a: [], b: [] });
  const [error, setError] = useState("");
  const [shown, setShown] = useState<number>();
  useEffect(() => {
    let gone = false;
    setError("");
    if (!a || !b) return;
    Promise.all([api.steps(a), api.steps(b), api.job(a), api.job(b)]).then(
      ([x, y, ...jobs]) => {
        if (gone) return;
        setSteps({ a: x, b: y });
        setChosen(jobs);
      },
      (e: Error) => gone || setError(e.message),
    );
    return () => {
      gone = true;
    };
  }, [a, b]);
  const both = useMemo(() => join(steps.a, steps.b), [steps]);
  const jobA = chosen.find((j) => j.id === a);
  const jobB = chosen.find((j) => j.id === b);
  const jobs = [...newest.toReversed(), ...chosen.filter((j, i) => chosen.findIndex((o) => o.id === j.id) === i && !newest.some((n) => n.id === j.id))];
  const last = both.at(-1)?.superstep ?? 0;
  const every = Math.max(1, Math.ceil((last + 1) / 500));
  const times = useMemo(() => lines(both, every, (s) => s.seconds.total), [both]);
  const frontiers = useMemo(() => lines(both, every, (s) => s.senders || null), [both]);
  const plot = {
    from: both[0]?.superstep ?? 0, to: last, selected: shown, width: every,
    onHover: (i: number | undefined) => setShown(i === undefined ? undefined : times[0]![i]),
  };
  const names: [string, string, "line" | "dash"][] = [
    [`A: ${jobA?.job ?? a}`, "pull", "line"],
    [`B: ${jobB?.job ?? b}`, "push", "dash"],
  ];
  const row = both.find((r) => r.superstep === shown);
  return (
    <section class="panel">
      <h2>Compare</h2>
      <div class="row">
        <Choose name="A" jobs={jobs} value={a} pick={(id) => go(link("compare", id, b))} />
        <Choose name="B" jobs={jobs} value={b} pick={(id) => go(link("compare", a, id))} />
      </div>
      {error && <p class="bad">{error}</p>}
      {jobA && jobB && both.length > 0 && (
        <>
          <Verdict a={jobA} b={jobB} />
          <figure>
            <figcaption>
              <h3>Time of each superstep</h3>
              <Legend items={names} />
            </figcaption>
            <Plot label="Time of each superstep of both jobs" height={180} options={() => pair(format.seconds)} optionsKey="times" data={times} {...plot} />
          </figure>
          <figure>
            <figcaption>
              <h3>
                Frontier <small>senders</small>
              </h3>
              <Legend items={names} />
            </figcaption>
            <Plot label="Frontier of both jobs" height={150} options={() => pair(format.count)} optionsKey="frontier" data={frontiers} {...plot} />
          </figure>
          <Readout text={row ? `Superstep ${row.superstep}: A ${said(row.a)}; B ${said(row.b)}` : "Point at a superstep to see both."} />
          <Table
            title="Supersteps of both"
            rows={() => both}
            keyOf={(r) => r.superstep}
            columns={[
              { name: "superstep", text: (r) => r.superstep },
              { name: "A", text: (r) => r.a?.delivery ?? "-", left: true },
              { name: "B", text: (r) => r.b?.delivery ?? "-", left: true },
              { name: "A time", text: (r) => (r.a ? format.seconds(r.a.seconds.total) : "-") },
              { name: "B time", text: (r) => (r.b ? format.seconds(r.b.seconds.total) : "-") },
              { name: "B over A", text: (r) => (r.a && r.b ? ratio(r.b.seconds.total, r.a.seconds.total) : "-") },
              { name: "A senders", text: (r) => (r.a ? format.exact(r.a.senders) : "-") },
              { name: "B senders", text: (r) => (r.b ? format.exact(r.b.senders) : "-") },
              { name: "A edges", text: (r) => (r.a ? format.exact(r.a.edges) : "-") },
              { name: "B edges", text: (r) => (r.b ? format.exact(r.b.edges) : "-") },
              { name: "A bytes", text: (r) => (r.a ? format.bytes(r.a.bytes) : "-") },
              { name: "B bytes", text: (r) => (r.b ? format.bytes(r.b.bytes) : "-") },
            ]}
          />
        </>
      )}
    </section>
  );
}

const ratio = (x: number, of: number) => (of > 0 ? `${(x / of).toFixed(2)}×` : "-");
const said = (s: Step | undefined) => (s ? `${format.verb(s.delivery)}, ${format.seconds(s.seconds.total)}, ${format.exact(s.senders)} senders` : "had ended");

function Choose({ name, jobs, value, pick }: { name: string; jobs: Job[]; value: string; pick: (id: string) => void }) {
  return (
    <label>
      {name}{" "}
      <select value={value} onChange={(e) => pick(e.currentTarget.value)}>
        {jobs.map((j) => (
          <option value={j.id} key={j.id}>
            {j.job} ({j.id})
          </option>
        ))}
      </select>
    </label>
  );
}

/** unlike lists the differences between two jobs that make their times incomparable. */
function unlike(a: Job, b: Job): string[] {
  const grid = (j: Job) => j.grid ?? j.partitions?.toString();
  const both: [string, string | undefined, string | undefined][] = [
    ["programs", a.program, b.program],
    ["graphs", a.graph, b.graph],
    ["sizes of the graph", size(a), size(b)],
    ["partitions", grid(a), grid(b)],
    ["threads", a.threads?.toString(), b.threads?.toString()],
    ["delivery", a.delivery || "auto", b.delivery || "auto"],
  ];
  if (a.program === b.program) {
    const names = new Set([a, b].flatMap((j) => Object.keys(j.parameters ?? {})));
    const value = (j: Job, name: string) => j.parameters?.[name] || j.defaults?.[name] || "not given";
    for (const name of names) both.push([name, value(a, name), value(b, name)]);
  }
  const found = both.filter(([, x, y]) => x && y && x !== y).map(([name, x, y]) => ({ name, text: `${name} (${x} | ${y})` }));
  // The sizes are redundant if the names of the graphs differ.
  return found.filter(({ name }) => name !== "sizes of the graph" || !found.some((f) => f.name === "graphs")).map((f) => f.text);
}

const size = (j: Job) => (j.vertices ? `${format.exact(j.vertices)} vertices, ${format.exact(j.arcs ?? 0)} arcs` : undefined);

function Verdict({ a, b }: { a: Job; b: Job }) {
  const differ = unlike(a, b);
  const faster = a.seconds <= b.seconds ? "A" : "B";
  const factor = Math.max(a.seconds, b.seconds) / Math.min(a.seconds, b.seconds);
  return (
    <>
      <p class="sentence">
        {factor < 1.01 || !Number.isFinite(factor) ? "Both took the same time." : <b>{`${faster} took less time: ${factor.toFixed(2)} times faster.`}</b>}
      </p>
      {differ.length > 0 && <p class="differ">These runs are not alike. They differ in their {differ.join(", ")}.</p>}
      <dl class="facts">
        <Fact name="time" value={`${format.seconds(a.seconds)} | ${format.seconds(b.seconds)}`} />
        <Fact name="supersteps" value={`${a.supersteps} | ${b.supersteps}`} />
        <Fact name="messages" value={`${format.count(a.messages)} | ${format.count(b.messages)}`} />
        <Fact name="between partitions" value={`${format.bytes(a.bytes)} | ${format.bytes(b.bytes)}`} />
      </dl>
    </>
  );
}

function join(a: Step[], b: Step[]): Both[] {
  const rows = new Map<number, Both>();
  for (const s of a) rows.set(s.superstep, { superstep: s.superstep, a: s, b: undefined });
  for (const s of b) {
    const row = rows.get(s.superstep);
    if (row) row.b = s;
    else rows.set(s.superstep, { superstep: s.superstep, a: undefined, b: s });
  }
  return [...rows.values()].sort((x, y) => x.superstep - y.superstep);
}

/** lines returns the numbers of both jobs. With many supersteps they are means over several. */
function lines(both: Both[], every: number, of: (s: Step) => number | null): uPlot.AlignedData {
  const x: number[] = [];
  const ys: (number | null)[][] = [[], []];
  for (let i = 0; i < both.length; i += every) {
    const some = both.slice(i, i + every);
    x.push((some[0]!.superstep + some.at(-1)!.superstep) / 2);
    [(r: Both) => r.a, (r: Both) => r.b].forEach((side, k) => {
      const found = some.map((r) => side(r)).filter((s) => s !== undefined).map((s) => of(s)).filter((v) => v !== null);
      ys[k]!.push(found.length > 0 ? found.reduce((p, q) => p + q, 0) / found.length : null);
    });
  }
  return [x, ys[0]!, ys[1]!];
}

function pair(values: (v: number) => string) {
  const c = colors();
  const few = (u: uPlot) => (u.data[0]?.length ?? 0) <= 100;
  return {
    axes: [axis(), axis(values)],
    scales: { y: { range: (_u: uPlot, _lo: number, hi: number): [number, number] => [0, hi > 0 ? hi * 1.05 : 1] } },
    series: [{}, { stroke: c.pull, width: 2, points: { show: few, size: 6 } }, { stroke: c.push, width: 2, dash: [6, 3], points: { show: few, size: 6 } }],
  };
}

