// The types and the calls of the API. internal/web/openapi.json describes them.

export interface Seconds {
  expand: number;
  traverse: number;
  fold: number;
  compute: number;
  wait: number;
  total: number;
}

/** GraphSize is the size of a graph after a program has changed it. */
export interface GraphSize {
  vertices: number;
  arcs: number;
}

export interface Step {
  superstep: number;
  phase?: number;
  program?: string;
  scheme: string;
  delivery: string;
  reason: string;
  predicted?: Record<string, number>;
  actual?: number;
  active: number;
  senders: number;
  receivers: number;
  edges: number;
  messages: number;
  messages_sent: number;
  bytes: number;
  /** requests to change the graph; they take effect in the next superstep */
  requests?: number;
  /** set if the superstep changed the graph: its size afterwards */
  graph?: GraphSize;
  /** the program's aggregators that are numbers, after the superstep */
  aggregators?: { name: string; value: number }[];
  seconds: Seconds;
  busy: { least: number; mean: number; most: number; slowest: number };
  partitions: number;
  memory?: number;
  gc_pause: number;
}

/** Search is the outcome of one Graph500 search. */
export interface Search {
  seconds: number;
  translate: number;
  validate?: number;
  nedge: number;
  valid?: boolean;
}

/** Kernel summarizes the Graph500 searches of one kernel so far. */
export interface Kernel {
  name: string;
  searches: number;
  valid: number;
  invalid: number;
  seconds: number;
  translate: number;
  validate: number;
  /** harmonic mean of the traversed edges per second, and the value of the last search */
  teps: number;
  last_teps: number;
}

export interface Job {
  id: string;
  /** the id of the job whose search this is */
  of?: string;
  job: string;
  program?: string;
  parameters?: Record<string, string>;
  /** the values of parameters that are not given */
  defaults?: Record<string, string>;
  owner?: string;
  priority?: string;
  graph?: string;
  vertices?: number;
  arcs?: number;
  partitions?: number;
  threads?: number;
  grid?: string;
  delivery?: string;
  /** limit of supersteps */
  max_supersteps?: number;
  began: string;
  /** missing for a run in one process and for a trace */
  submitted?: string;
  finished?: string;
  /** earlier attempts, which lost a worker or moved to other workers */
  lost?: { began: string; supersteps: number; error: string; finished?: string }[];
  /** queued, running, done, failed or cancelled */
  state: string;
  /** set if state is done: converged, iterations, limit, halted or stopped */
  ended?: string;
  error?: string;
  supersteps: number;
  seconds: number;
  /** set if state is running: estimated seconds until max_supersteps */
  left_seconds?: number;
  /** this process has the result */
  result?: boolean;
  messages: number;
  messages_sent: number;
  bytes: number;
  /** final values of the program's aggregators, by name */
  aggregators?: Record<string, string>;
  /** size of the graph after a program that changes it */
  graph_left?: GraphSize;
  said: string[] | null;
  search?: Search;
  kernels?: Kernel[];
  /** official seconds of Graph500 on a cluster */
  generation?: number;
  construction?: number;
}

/** Page has some of the jobs that a query selects. total is the number of all of them. */
export interface Page {
  items: Job[];
  total: number;
}

/** Query selects jobs. openapi.json describes the parameters. */
export type Query = Partial<Record<"of" | "near" | "state" | "program" | "graph" | "text" | "ended_within" | "sort" | "from" | "limit", string>>;

/** Peer is the traffic to one other partition. */
export interface Peer {
  partition: number;
  exchange: string;
  encoding: string;
  messages: number;
  bytes: number;
}

/** Partition is the work of a partition in a superstep or in the whole run. */
export interface Partition {
  partition: number;
  worker?: string;
  seconds: Seconds;
  active: number;
  senders: number;
  receivers: number;
  edges: number;
  messages: number;
  messages_sent: number;
  bytes: number;
  requests?: number;
  memory?: number;
  gc_pause: number;
  peers?: Peer[];
}

export interface Detail {
  step: Step;
  partitions: Partition[];
}

export interface Matrix {
  side: number;
  per: number;
  bytes: number[];
  summed?: boolean; // the record has only the total traffic of each partition
}

export interface Whole {
  totals: Partition[];
  matrix: Matrix;
  encoded: { exchange: string; encoding: string; columns: number; messages: number; bytes: number }[];
}

export interface Lanes {
  from: number;
  every: number;
  partitions: number;
  columns: number;
  busy: number[];
}

export interface About {
  kind: string;
  name: string;
  version: string;
  /** programs that a job can run */
  programs?: string[];
}

/** Parameter is a parameter of a program. */
export interface Parameter {
  name: string;
  help: string;
  default: string;
  value: string;
  kind: "vertex" | "number" | "integer" | "switch" | "time" | "word" | "text";
  list: boolean;
  words?: string[];
  required: boolean;
}

/** Forms has the choices that the forms for jobs and graphs offer. */
export interface Forms {
  programs: { name: string; help: string; parameters: Parameter[] }[];
  generators: { name: string; help: string; example: string }[];
  formats: string[];
  duplicates: string[];
  self_loops: string[];
  weights: string[];
  ids: string[];
  deliveries: string[];
  priorities: string[];
  graph500: { edge_factor: number; roots: number; seed1: number; seed2: number };
}

/** Input is a request for a graph. Missing fields have the command line's defaults. */
export interface Input {
  graph?: string;
  format?: string;
  directed?: boolean;
  duplicates?: string;
  self_loops?: string;
  unit_weights?: boolean;
  source_column?: string;
  target_column?: string;
  weight_column?: string;
  delimiter?: string;
  header?: boolean;
  ids?: string;
  grid?: string;
  partitions?: number;
}

export interface Loading extends Input {
  name: string;
  weights?: string;
}

/** Submission is a request for a job. */
export interface Submission extends Input {
  program?: string;
  parameters?: Record<string, string>;
  graph500?: { scale?: number; edge_factor?: number; roots?: number; seed1?: number; seed2?: number; sssp: boolean; no_validate: boolean };
  delivery?: string;
  deterministic?: boolean;
  max_supersteps?: number;
  seed?: number;
  priority?: string;
  superstep_timeout?: string;
  keep_result?: boolean;
}

export interface Graph {
  name: string;
  state: string;
  reason?: string;
  vertices: number;
  arcs: number;
  directed: boolean;
  bytes: number;
  partitions: number;
  grid?: string;
  load_seconds: number;
  source?: string;
  stage?: string;
  done?: number;
  total?: number;
}

export interface Worker {
  name: string;
  state: string;
  reason?: string;
  site?: string;
  address?: string;
  threads: number;
  memory: number;
  memory_used: number;
  heard_seconds: number;
  /** missing if it was not asked for, in one process, and until the worker has reported twice */
  recent?: Recent;
}

/** Recent is what a worker used in the last minutes: figures of the same times. */
export type Recent = Record<"seconds" | "processors" | "collection" | "waiting" | "memory" | "spilled" | "sent" | "received", number[]>;

export interface WorkerDetail {
  worker: Worker;
  graphs: { graph: string; partitions: number[] }[];
  jobs: string[];
}

export interface Stage {
  job?: string;
  stage: string;
  part?: string;
  done?: number;
  total?: number;
  seconds?: number;
  /** omitted while the stage runs, and in a saved trace */
  ended?: string;
  /** time at which the page first saw the stage, in milliseconds, and its progress then */
  seen?: { at: number; done: number };
}

export interface LogLine {
  time: string;
  level: string;
  text: string;
  job?: string;
  worker?: string;
}

/** Bin counts the numbers x with from <= x < to. */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

export interface ValueRow {
  vertex: string;
  values: string[];
}

/** FieldValues summarizes one field of the values of a result. */
export interface FieldValues {
  name: string;
  numbers: number;
  infinite: number;
  nan: number;
  texts: number;
  least: number;
  greatest: number;
  mean: number;
  top: ValueRow[];
  bottom: ValueRow[];
  bins: Bin[];
  log_bins: Bin[];
}

export interface Values {
  vertices: number;
  fields: FieldValues[];
}

/** Reading is the progress of reading a result, before its summary exists. */
export interface Reading {
  read: number;
}

const base = "api/v1/";

/**
 * saved has the API's answers by path in a report, a single file that works without the API.
 * Elsewhere it is undefined.
 */
const block = document.getElementById("saved");
export const saved = block ? new Map<string, unknown>(Object.entries(JSON.parse(block.textContent ?? "{}") as object)) : undefined;

/**
 * ApiError is an error answer of the API. Status 401 means that the API needs a token. field is the
 * wrong key of the request, or empty.
 */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    text: string,
    readonly field = "",
  ) {
    super(text);
  }
}

async function answer<T>(response: Response): Promise<T> {
  const body = response.status === 204 ? {} : await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw new ApiError(response.status, body.error ?? response.statusText, body.field);
  return body as T;
}

async function get<T>(path: string): Promise<T> {
  if (saved) {
    if (!saved.has(path)) throw new ApiError(404, "the report does not have this");
    return structuredClone(saved.get(path)) as T; // callers may change it
  }
  return answer<T>(await fetch(base + path));
}

async function post<T>(path: string, body: unknown): Promise<T> {
  return answer<T>(await fetch(base + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

const list = async <T>(path: string): Promise<T[]> => (await get<{ items: T[] }>(path)).items;
const of = (job: string) => `jobs/${encodeURIComponent(job)}`;

/**
 * savedJobs answers a query from the jobs of a report. All of them have ended, and a report has
 * neither a filter nor other orders.
 */
async function savedJobs({ of, near, state, sort, from, limit }: Query): Promise<Page> {
  const all = await list<Job>("jobs");
  const at = all.findIndex((j) => j.id === near);
  const found = near !== undefined ? all.slice(Math.max(at - 1, 0), Math.max(at + 2, 0)) : all.filter((j) => !state && (of === undefined || of === (j.of ?? "")));
  if (near !== undefined && at < 0) found.length = 0;
  if (sort?.startsWith("-")) found.reverse();
  const start = Number(from ?? 0);
  return { items: found.slice(start, start + Number(limit ?? found.length)), total: found.length };
}

export const api = {
  about: () => get<About>("about"),
  jobs: (q: Query) => (saved ? savedJobs(q) : get<Page>(`jobs?${new URLSearchParams(q as Record<string, string>).toString()}`)),
  job: (id: string) => get<Job>(of(id)),
  detail: (id: string, superstep: number) => get<Detail>(`${of(id)}/steps/${superstep}`),
  whole: (id: string) => get<Whole>(`${of(id)}/partitions`),
  lanes: (id: string, columns: number) => get<Lanes>(`${of(id)}/lanes${saved ? "" : `?columns=${columns}`}`),
  report: async (id: string) => (await get<{ text: string }>(`${of(id)}/report`)).text,
  graphs: () => list<Graph>("graphs"),
  workers: () => list<Worker>("workers"),
  workersAndCurves: () => list<Worker>(saved ? "workers" : "workers?recent=true"),
  worker: (name: string) => get<WorkerDetail>(`workers/${encodeURIComponent(name)}`),
  stages: () => list<Stage>("stages"),
  log: () => list<LogLine>("log"),

  /** steps reads the stored supersteps of a job in several calls. */
  async steps(id: string): Promise<Step[]> {
    const all: Step[] = [];
    for (let from = 0; ; ) {
      const some = await list<Step>(`${of(id)}/steps?from=${from}`);
      all.push(...some);
      const last = some.at(-1);
      if (!last || some.length < 10_000) return all;
      from = last.superstep + 1;
    }
  },

  async enter(token: string): Promise<void> {
    await post("session", { token });
  },
  forms: () => get<Forms>("forms"),
  submit: (job: Submission) => post<Job>("jobs", job),
  load: (graph: Loading) => post<Graph>("graphs", graph),
  drop: (graph: string) => post<unknown>(`graphs/${encodeURIComponent(graph)}/drop`, {}),
  values: (id: string) => get<Values | Reading>(`${of(id)}/values`),
  value: (id: string, vertex: string) => get<ValueRow & { fields: string[] }>(`${of(id)}/value?vertex=${encodeURIComponent(vertex)}`),
  /** result returns the URL of the result of a job. */
  result: (id: string) => `${base}${of(id)}/result`,
  cancel: (id: string) => post<Job>(`${of(id)}/cancel`, {}),

  /**
   * events opens the stream of events: the supersteps of one job and the other events of all jobs.
   */
  events: (job: string) => new EventSource(`${base}events?job=${encodeURIComponent(job)}`),
};
