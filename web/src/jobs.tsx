// The list of jobs, and one job.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type About, api, type Job, type Kernel, type Page, saved, type Stage, type Step, type Worker } from "./api";
import { checkpoint, Clock } from "./clock";
import { convergence } from "./convergence";
import { Fact } from "./decision";
import { Sure } from "./form";
import * as format from "./format";
import { live as source, useLive, usePage, useRepeated } from "./live";
import { Partitions } from "./partitions";
import { Result } from "./results";
import { go, link } from "./route";
import { Submit } from "./submit";
import { Timeline } from "./timeline";

const endings = new Map([["iterations", "by its iterations"], ["limit", "stopped at the limit"]]);

/** called returns the name of a job, followed by its program unless the name contains it. */
export const called = (j: Job): string => (!j.program || j.job.includes(j.program) ? j.job : `${j.job} ${j.program}`);

export function State({ state, ended }: Pick<Job, "state" | "ended">) {
  return <span class={`state ${state}`}>{ended ? `${state}, ${endings.get(ended) ?? ended}` : state}</span>;
}

/** Jobs is the first page: the current state of the cluster and the history of jobs. */
export function Jobs() {
  const { about } = useLive();
  const file = about.kind === "file" || about.kind === "report";
  return (
    <>
      <Stages of={(s) => !s.job || file} named />
      {!file && <Now />}
      {about.programs && <Submit />}
      <History />
    </>
  );
}

const day = 24 * 3600; // seconds
const mostWaiting = 20; // listed above the history
const mostFailed = 10;

/** Now shows the running jobs, the queue, the failures of the last day, and the workers. */
function Now() {
  const { about } = useLive();
  const running = usePage({ of: "", state: "running", limit: "50" });
  const queue = usePage({ of: "", state: "queued", sort: "turn", limit: String(mostWaiting) });
  const failed = usePage({ of: "", state: "failed", ended_within: String(day), sort: "-finished", limit: String(mostFailed) });
  if (!running || !queue || !failed) return null;
  if (running.total + queue.total + failed.total === 0 && about.kind !== "master") return null;
  return (
    <section class="panel now" aria-label="Now">
      <h2>Now</h2>
      {running.total === 0 && <p class="quiet">No job runs.</p>}
      <ul class="running">
        {running.items.map((j) => (
          <Running job={j} key={j.id} />
        ))}
      </ul>
      {running.total > running.items.length && <p class="hint">The list below has the others: choose the state running.</p>}
      {queue.total > 0 && (
        <List
          title={`Queue: ${format.exact(queue.total)} ${queue.total === 1 ? "job waits" : "jobs wait"}`}
          names={["place", "job", "graph", "submitted", "reason"]}
          rows={queue.items.map((j, i) => [i + 1, <Named job={j} />, j.graph ?? "-", format.when(j.submitted ?? ""), j.error ?? ""])}
        />
      )}
      {queue.total > mostWaiting && <p class="hint">The list below has the others: choose the state queued.</p>}
      {failed.total > 0 && (
        <List
          title={`Failed in the last day: ${format.exact(failed.total)} ${failed.total === 1 ? "job" : "jobs"}`}
          names={["job", "failed", "reason"]}
          rows={failed.items.map((j) => [<Named job={j} />, format.when(j.finished ?? ""), j.error ?? ""])}
        />
      )}
      {failed.total > mostFailed && <p class="hint">The list below has the others: choose the state failed.</p>}
      {about.kind === "master" && <WorkerCounts />}
    </section>
  );
}

const Named = ({ job }: { job: Job }) => <a href={link("job", job.id)}>{called(job)}</a>;

function List({ title, names, rows }: { title: string; names: string[]; rows: ComponentChildren[][] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <h3>{title}</h3>
      <table>
        <thead>
          <tr>{names.map((name) => <th scope="col" key={name}>{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((cells, i) => (
            <tr key={i}>{cells.map((cell, k) => <td class={names[k] === "reason" ? "reason" : "clip"} key={k}>{cell}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Running shows a running job: its progress, its speed and, if known, its remaining time. */
function Running({ job }: { job: Job }) {
  const { stages } = useLive();
  const stage = stages.findLast((s) => s.job === job.job && !s.seconds);
  const most = job.max_supersteps ?? 0;
  const [done, total] = stage?.total ? [stage.done ?? 0, stage.total] : [job.supersteps, most];
  const rate = job.seconds > 0 ? job.supersteps / job.seconds : 0;
  return (
    <li>
      <Named job={job} /> {job.graph && <small>on {job.graph}</small>}{" "}
      {total > 0 && <progress max={total} value={Math.min(done, total)} aria-label={`How far ${called(job)} is`} />}{" "}
      {stage ? `${stage.stage}${stage.total ? ` ${far(stage)}` : "…"}` : `${format.exact(job.supersteps)} ${most > 0 ? `of at most ${format.exact(most)} ` : ""}supersteps`}
      {!stage && rate > 0 && `, ${Number(rate.toPrecision(3))} a second`}
      {!!job.left_seconds && `, at most ${format.left(job.left_seconds)}`}
    </li>
  );
}

/** WorkerCounts counts the workers by state. */
function WorkerCounts() {
  const [all = []] = useRepeated<Worker[]>(api.workers);
  const states = [...new Set(all.map((w) => w.state))].map((state) => `${all.filter((w) => w.state === state).length} ${state}`);
  const sum = (of: (w: Worker) => number) => format.bytes(all.reduce((n, w) => n + of(w), 0));
  return (
    <p>
      <a href={link("workers")}>Workers</a>: {states.join("; ") || "none"}
      {all.length > 0 && `; ${sum((w) => w.memory_used)} of memory used, of ${sum((w) => w.memory)}`}
    </p>
  );
}

const pageSize = 50;
const none = { state: "", program: "", graph: "", text: "" };

/** History lists the jobs that pass the filter, sorted and in pages. */
function History() {
  const { stages } = useLive();
  const [filter, setFilter] = useState(none);
  const [sort, setSort] = useState("-began");
  const [from, setFrom] = useState(0);
  const page = usePage({ of: "", ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value)), sort, from: String(from), limit: String(pageSize) });
  const jobs = page?.items ?? [];
  const total = page?.total ?? 0;
  const filtered = Object.values(filter).some((value) => value);
  const several = filtered || total > 1;
  useEffect(() => {
    if (from > 0 && from >= total) setFrom(Math.max(0, Math.ceil(total / pageSize) - 1) * pageSize); // the number of jobs has become smaller
  }, [total]);
  const set = (name: keyof typeof none) => (e: { currentTarget: { value: string } }) => {
    setFilter({ ...filter, [name]: e.currentTarget.value });
    setFrom(0);
  };
  const head = (key: string, name: string, number = false) => (
    <th scope="col" class={number ? "n" : ""} aria-sort={saved ? undefined : sort === key ? "ascending" : sort === `-${key}` ? "descending" : undefined}>
      {saved ? name : <button type="button" class="link" onClick={() => (setSort(sort === `-${key}` ? key : `-${key}`), setFrom(0))}>{name}</button>}
    </th>
  );
  const empty = filtered ? "No job matches." : stages.length > 0 ? "No job has begun yet." : "There are no jobs.";
  return (
    <section class="panel" aria-label="History">
      <h2>Jobs</h2>
      {several && !saved && (
        <form class="row" role="search" aria-label="Jobs" onSubmit={(e) => e.preventDefault()}>
          <label>
            State{" "}
            <select value={filter.state} onChange={set("state")}>
              <option value="">any</option>
              {["queued", "running", "done", "failed", "cancelled"].map((s) => <option key={s}>{s}</option>)}
            </select>
          </label>
          {(["program", "graph", "text"] as const).map((name) => (
            <label key={name}>
              {name[0]!.toUpperCase() + name.slice(1)} <input name={name} size={12} value={filter[name]} onInput={set(name)} />
            </label>
          ))}
        </form>
      )}
      {!several && jobs.length === 0 && <p class="quiet">{page ? empty : "Loading…"}</p>}
      {jobs.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="List of jobs">
          <table>
            <thead>
              <tr>
                {head("job", "job")}
                {head("graph", "graph")}
                <th scope="col">state</th>
                {head("supersteps", "supersteps", true)}
                {head("seconds", "time", true)}
                {head("messages", "messages", true)}
                <th scope="col" class="n">partitions</th>
                {head("began", "began")}
              </tr>
            </thead>
            <tbody>
              {jobs.map((j) => (
                <tr key={j.id}>
                  <td><Named job={j} /></td>
                  <td class="clip">{j.graph ?? "-"}</td>
                  <td><State {...j} /></td>
                  <td class="n">{format.exact(j.supersteps)}</td>
                  <td class="n">{format.seconds(j.seconds)}</td>
                  <td class="n">{format.count(j.messages)}</td>
                  <td class="n">{j.partitions ?? "-"}</td>
                  <td>{format.when(j.began)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {several && (
        <p class="pages">
          {total > pageSize && <button type="button" disabled={from === 0} onClick={() => setFrom(from - pageSize)}>Previous</button>}
          <span role="status" key="count">{total === 0 ? empty : `${format.exact(from + 1)} to ${format.exact(from + jobs.length)} of ${format.exact(total)}`}</span>
          {total > pageSize && <button type="button" disabled={from + pageSize >= total} onClick={() => setFrom(from + pageSize)}>Next</button>}
        </p>
      )}
      {several && <p><a href={link("compare")}>Compare two jobs</a></p>}
    </section>
  );
}

/**
 * Stages shows the work before and after the supersteps: the current stages, and the times of the
 * finished ones.
 */
export function Stages({ of, running = true, named = false }: { of: (s: Stage) => boolean; running?: boolean; named?: boolean }) {
  const { stages: all, link: state } = useLive();
  const stages = all.filter((s) => of(s) && s.stage !== checkpoint);
  if (stages.length === 0) return null;
  const current = state === "ended" || !running ? undefined : stages.findLast((s) => !s.seconds);
  return (
    <section class="panel stages" aria-label="Work around the supersteps">
      {current && (
        <p>
          <b>{current.part ? `${current.stage}: ${current.part}` : current.stage}</b>{" "}
          {current.total ? (
            <>
              <progress max={current.total} value={current.done ?? 0} aria-label={current.stage} /> {far(current)}
            </>
          ) : (
            "…"
          )}
        </p>
      )}
      <ul>
        {stages
          .filter((s) => s.seconds)
          .map((s, i) => (
            <li key={i}>
              {named && s.job ? `${s.job}: ${s.stage}` : s.stage} <b>{format.seconds(s.seconds!)}</b>
            </li>
          ))}
      </ul>
    </section>
  );
}

/**
 * far returns the progress of a stage as text. One second after the page first saw the stage, far
 * adds its rate and its remaining time.
 */
function far({ done = 0, total = 0, seen }: Stage): string {
  const text = `${format.percent(done, total)}: ${format.count(done)} of ${format.count(total)}`;
  const took = seen ? (performance.now() - seen.at) / 1e3 : 0;
  const rate = took >= 1 ? (done - seen!.done) / took : 0;
  if (rate <= 0 || done >= total) return text;
  return `${text}, ${format.count(Number(rate.toPrecision(3)))}/s, ${format.seconds(Math.ceil((total - done) / rate))} left`;
}

export function JobPage({ id }: { id: string }) {
  const live = useLive();
  const [selected, setSelected] = useState<number>();
  useEffect(() => {
    live.follow(id);
    setSelected(undefined);
    return () => live.follow("");
  }, [id]);
  const page = usePage({ near: id });
  const at = page?.items.findIndex((j) => j.id === id) ?? -1;
  const job = page?.items[at];
  if (!job) return <p class="quiet">{page ? `There is no job ${id}.` : live.link === "ended" ? "The page has not read this job, and the server has ended." : "Loading…"}</p>;
  const before = page!.items[at - 1];
  const after = page!.items[at + 1];
  const own = (s: Stage) => !s.job || s.job === job.job || job.job.startsWith(`${s.job}: `);
  return (
    <>
      <Stages of={own} running={job.state === "running"} />
      <section class="panel">
        <div class="row">
          <h2>
            {called(job)} <State {...job} />
          </h2>
          {live.about.programs && (job.state === "running" || job.state === "queued") && <Cancel job={job} />}
          <nav class="near" aria-label="Other jobs">
            {before && <a href={link("job", before.id)}>← {before.job}</a>}
            {after && <a href={link("job", after.id)}>{after.job} →</a>}
            {before && <a href={link("compare", before.id, job.id)}>Compare</a>}
          </nav>
        </div>
        {job.error && <p class={job.state === "queued" ? "quiet" : "bad"}>{job.error}</p>}
        {job.lost && (
          <ul class="said" aria-label="Lost attempts">
            {job.lost.map((a, i) => (
              <li key={i}>
                Attempt {i + 1} began {format.when(a.began)}, and ended after {a.supersteps === 1 ? "1 superstep" : `${format.exact(a.supersteps)} supersteps`}: {a.error}
              </li>
            ))}
          </ul>
        )}
        {job.state === "running" && live.link === "live" && <Bound job={job} />}
        {job.state === "running" && live.link === "live" && <Converges job={job} steps={live.job === id ? live.steps : []} />}
        <Facts job={job} kept={live.job === id && live.steps.length > 0} />
        <Aggregators of={job.aggregators ?? {}} />
        {job.said && job.said.length > 0 && (
          <ul class="said">
            {job.said.map((s) => (
              <li key={s}>{s}</li>
            ))}
          </ul>
        )}
      </section>
      {job.program === "graph500" && <Searches job={job} />}
      {hasResult(job, live.about) && <Result job={id} key={id} />}
      <section class="panel" aria-label="Timeline">
        <h2>Timeline</h2>
        <Timeline steps={live.job === id ? live.steps : []} loading={live.job !== id || !live.stepsRead} version={live.version} running={job.state === "running"} ended={job.supersteps} selected={selected} onSelect={setSelected} />
      </section>
      <Clock job={job} stages={live.stages.filter(own)} log={live.log} />
      <Partitions job={id} steps={live.steps} version={live.version} running={job.state === "running" && live.link === "live"} selected={selected} onSelect={setSelected} />
    </>
  );
}

/**
 * Bound shows the progress of a run towards its limit of supersteps. The run may end before, so the
 * remaining time is an upper bound.
 */
function Bound({ job }: { job: Job }) {
  const most = job.max_supersteps;
  if (!most || job.supersteps > most) return null;
  return (
    <p class="bound">
      {format.exact(job.supersteps)} of at most {format.exact(most)} supersteps
      {!!job.left_seconds && `, at most ${format.left(job.left_seconds)}`}
    </p>
  );
}

/** Converges shows when the job is expected to converge. */
function Converges({ job, steps }: { job: Job; steps: Step[] }) {
  const text = convergence(job, steps);
  return text ? <p class="converges" role="note">{text}</p> : null;
}

/**
 * hasResult reports whether the result of a job may exist. Only the answer to a request tells
 * whether a master has kept the result of a job.
 */
function hasResult(job: Job, about: About): boolean {
  if (job.state !== "done") return false;
  return !!job.result || (!!about.programs?.includes(job.program ?? "") && !job.job.includes(" "));
}

/** Cancel is a button that cancels a job after a confirmation. */
function Cancel({ job }: { job: Job }) {
  // A Graph500 search is part of a job. The name of the search begins with the name of the job.
  const whole = job.job.split(" ")[0]!;
  return <Sure button="Cancel job" question={`Cancel ${whole}?`} yes="Cancel it" no="Let it run" act={async () => source.turned(await api.cancel(whole))} />;
}

/** Searches shows the summary and the list of the searches of a Graph500 job. */
function Searches({ job }: { job: Job }) {
  const own = usePage({ of: job.id })?.items ?? [];
  if (own.length === 0 && !job.kernels) return null;
  return (
    <section class="panel" aria-label="Searches">
      <h2>Searches</h2>
      {!!job.construction && (
        <dl class="facts" aria-label="before the searches">
          <Fact name="generation" value={format.seconds(job.generation ?? 0)} />
          <Fact name="construction" value={format.seconds(job.construction)} />
        </dl>
      )}
      {job.kernels?.map((k) => (
        <dl class="facts" key={k.name} aria-label={k.name}>
          <Fact name={`${k.name}, harmonic mean`} value={teps(k.teps)} />
          <Fact name="last search" value={teps(k.last_teps)} />
          <Fact name="searches" value={`${k.searches}${validity(k)}`} />
          <Fact name="search" value={format.seconds(k.seconds - k.translate)} />
          <Fact name="translation" value={format.seconds(k.translate)} />
          <Fact name="validation, untimed" value={format.seconds(k.validate)} />
        </dl>
      ))}
      <div class="scroll" tabIndex={0} role="region" aria-label="List of searches">
        <table>
          <thead>
            <tr>
              <th scope="col">search</th>
              <th scope="col">state</th>
              <th scope="col" class="n">TEPS</th>
              <th scope="col" class="n">official time</th>
              <th scope="col" class="n">of it translation</th>
              <th scope="col" class="n">validation</th>
              <th scope="col" class="n">supersteps</th>
              <th scope="col" class="n">their time</th>
            </tr>
          </thead>
          <tbody>
            {own.map((j) => (
              <tr key={j.id}>
                <td>
                  <a href={link("job", j.id)}>{j.job.slice(job.job.length + 1)}</a>
                </td>
                <td>{judged(j)}</td>
                <td class="n">{j.search ? teps(j.search.nedge / j.search.seconds) : "-"}</td>
                <td class="n">{j.search ? format.seconds(j.search.seconds) : "-"}</td>
                <td class="n">{j.search ? format.seconds(j.search.translate) : "-"}</td>
                <td class="n">{j.search?.validate ? format.seconds(j.search.validate) : "-"}</td>
                <td class="n">{format.exact(j.supersteps)}</td>
                <td class="n">{format.seconds(j.seconds)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {job.state !== "running" && <Block job={job} />}
    </section>
  );
}

const teps = (x: number): string => `${format.count(Math.round(x))}TEPS`;

const validity = (k: Kernel): string =>
  k.invalid > 0 ? `, ${k.invalid} not valid` : k.valid === k.searches ? ", all valid" : ", not validated";

/**
 * judged shows the result of a search's validation, or the state of a search without validation.
 */
const judged = (j: Job) => (j.search?.valid === undefined ? <State {...j} /> : j.search.valid ? "valid" : <b class="bad">not valid</b>);

/** Block shows the official output of Graph500. */
function Block({ job }: { job: Job }) {
  const [text, set] = useState("");
  useEffect(() => void api.report(job.id).then(set, () => undefined), [job.id, job.state]);
  if (!text) return null;
  return (
    <details class="more">
      <summary>The official output</summary>
      {window.isSecureContext && <button type="button" onClick={() => void navigator.clipboard.writeText(text)}>Copy</button>}
      <pre class="scroll" tabIndex={0}>{text}</pre>
    </details>
  );
}

/**
 * Facts shows the properties of a job. It omits the totals of a job whose supersteps were not kept:
 * they are unknown, not 0.
 */
export function Facts({ job, kept }: { job: Job; kept: boolean }) {
  const known = kept || job.supersteps === 0 || job.messages > 0;
  const parameters = Object.entries(job.parameters ?? {});
  return (
    <dl class="facts">
      {job.owner && <Fact name="owner" value={job.owner} />}
      {job.priority && <Fact name="priority" value={job.priority} />}
      {job.graph && <Fact name="graph" value={job.graph} />}
      {parameters.map(([k, v]) => (
        <Fact name={k} value={v} key={k} />
      ))}
      {!!job.vertices && <Fact name="vertices" value={format.count(job.vertices)} />}
      {!!job.arcs && <Fact name="arcs" value={format.count(job.arcs)} />}
      {job.graph_left && <Fact name="graph left" value={`${format.count(job.graph_left.vertices)} vertices, ${format.count(job.graph_left.arcs)} arcs`} />}
      {!!job.partitions && <Fact name="partitions" value={job.grid ? `${job.partitions} (${job.grid})` : String(job.partitions)} />}
      {!!job.threads && <Fact name="threads" value={String(job.threads)} />}
      {job.delivery && <Fact name="delivery" value={job.delivery} />}
      {job.submitted && <Fact name="submitted" value={format.when(job.submitted)} />}
      {format.when(job.began) !== "-" && <Fact name="began" value={format.when(job.began)} />}
      <Fact name="supersteps" value={format.exact(job.supersteps)} />
      {(known || job.seconds > 0) && <Fact name="time" value={format.seconds(job.seconds)} />}
      {known && <Fact name="messages" value={format.count(job.messages)} />}
      {known && (job.partitions ?? 0) > 1 && <Fact name="between partitions" value={format.bytes(job.bytes)} />}
    </dl>
  );
}

/** Aggregators shows the final values of the program's aggregators. */
function Aggregators({ of }: { of: Record<string, string> }) {
  const all = Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1));
  if (all.length === 0) return null;
  return (
    <dl class="facts" aria-label="Aggregators">
      {all.map(([name, value]) => (
        <Fact name={name} value={value} key={name} />
      ))}
    </dl>
  );
}

/** Start shows the job if there is only one, and the list of jobs otherwise. */
export function Start({ newest }: { newest: Page | undefined }) {
  const only = newest?.total === 1 ? newest.items[0]?.id : undefined;
  useEffect(() => {
    if (only !== undefined) go(link("job", only));
  }, [only]);
  return <Jobs />;
}
