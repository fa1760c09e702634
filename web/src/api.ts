// The API's types, as internal/web/openapi.json describes them, and the calls.

export interface Seconds {
  expand: number;
  traverse: number;
  fold: number;
  compute: number;
  wait: number;
  total: number;
}

/** a graph that the program changes */
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
  /** for changes of the graph, which the next superstep makes */
  requests?: number;
  /** after a superstep that has changed it */
  graph?: GraphSize;
  seconds: Seconds;
  busy: { least: number; mean: number; most: number; slowest: number };
  partitions: number;
  memory?: number;
  gc_pause: number;
}

/** what a search of Graph500 came to */
export interface Search {
  seconds: number;
  translate: number;
  validate?: number;
  nedge: number;
  valid?: boolean;
}

/** what the searches of a kernel of Graph500 come to so far */
export interface Kernel {
  name: string;
  searches: number;
  valid: number;
  invalid: number;
  seconds: number;
  translate: number;
  validate: number;
  /** the harmonic mean */
  teps: number;
}

export interface Job {
  id: string;
  job: string;
  program?: string;
  parameters?: Record<string, string>;
  owner?: string;
  priority?: string;
  graph?: string;
  vertices?: number;
  arcs?: number;
  partitions?: number;
  threads?: number;
  grid?: string;
  delivery?: string;
  /** how many it runs at most */
  max_supersteps?: number;
  began: string;
  /** left out where it is not known: of a run in one process, of a trace */
  submitted?: string;
  finished?: string;
  /** the earlier attempts, which lost a worker or moved */
  lost?: { began: string; supersteps: number; error: string; finished?: string }[];
  /** queued, running, done, failed, cancelled */
  state: string;
  /** of one that is done: converged, iterations, limit, halted, stopped */
  ended?: string;
  error?: string;
  supersteps: number;
  seconds: number;
  /** of a run that is under way: how long it takes until max_supersteps at most, as it seems */
  left_seconds?: number;
  /** what it has computed can be asked for in the process that ran it */
  result?: boolean;
  messages: number;
  messages_sent: number;
  bytes: number;
  /** what the program's aggregators ended with */
  aggregators?: Record<string, string>;
  /** as a program that changes the graph has left it */
  graph_left?: GraphSize;
  said: string[] | null;
  search?: Search;
  kernels?: Kernel[];
}

/** what was sent to one other partition */
export interface Peer {
  partition: number;
  exchange: string;
  encoding: string;
  messages: number;
  bytes: number;
}

/** what a partition did in a superstep, as its record has it, or in the whole run */
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
  summed?: boolean; // what went to each other partition is not told of
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
  /** those that a job can be submitted of */
  programs?: string[];
}

/** Parameter is one of a program's */
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

/** Forms are what a job and a graph are asked for with */
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

/** Input is a graph as it is asked for; what is left out is as on the command line */
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

/** Submission is a job as it is asked for */
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
}

export interface Stage {
  job?: string;
  stage: string;
  part?: string;
  done?: number;
  total?: number;
  seconds?: number;
  /** left out while it is under way, and of a saved trace */
  ended?: string;
  /** when the page saw it first, in milliseconds, and how much was done then */
  seen?: { at: number; done: number };
}

export interface LogLine {
  time: string;
  level: string;
  text: string;
  job?: string;
  worker?: string;
}

/** Bin is how many numbers there are from one on, below another */
export interface Bin {
  from: number;
  to: number;
  count: number;
}

export interface ValueRow {
  vertex: string;
  values: string[];
}

/** FieldValues is what a field of a result's values comes to */
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

/** Reading is how far a result is read that is not summed up yet */
export interface Reading {
  read: number;
}

const base = "api/v1/";

/** saved has the API's answers, by path, in a report: one file, without an API to ask. Elsewhere it is undefined. */
const block = document.getElementById("saved");
export const saved = block ? new Map<string, unknown>(Object.entries(JSON.parse(block.textContent ?? "{}") as object)) : undefined;

/** ApiError is an answer that is none; status 401 asks for a token. Field is the key of the request that it is about, or nothing. */
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
    return structuredClone(saved.get(path)) as T; // answers are their readers' to change
  }
  return answer<T>(await fetch(base + path));
}

async function post<T>(path: string, body: unknown): Promise<T> {
  return answer<T>(await fetch(base + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));
}

const list = async <T>(path: string): Promise<T[]> => (await get<{ items: T[] }>(path)).items;
const of = (job: string) => `jobs/${encodeURIComponent(job)}`;

export const api = {
  about: () => get<About>("about"),
  jobs: () => list<Job>("jobs"),
  job: (id: string) => get<Job>(of(id)),
  detail: (id: string, superstep: number) => get<Detail>(`${of(id)}/steps/${superstep}`),
  whole: (id: string) => get<Whole>(`${of(id)}/partitions`),
  lanes: (id: string, columns: number) => get<Lanes>(`${of(id)}/lanes${saved ? "" : `?columns=${columns}`}`),
  report: async (id: string) => (await get<{ text: string }>(`${of(id)}/report`)).text,
  graphs: () => list<Graph>("graphs"),
  workers: () => list<Worker>("workers"),
  stages: () => list<Stage>("stages"),
  log: () => list<LogLine>("log"),

  /** steps reads all supersteps of a job that are kept, by as many calls as it takes. */
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
  /** result is the address of all that a job has computed */
  result: (id: string) => `${base}${of(id)}/result`,
  cancel: (id: string) => post<Job>(`${of(id)}/cancel`, {}),

  /** events opens the stream of what is new: of one job's supersteps, and of all else. */
  events: (job: string) => new EventSource(`${base}events?job=${encodeURIComponent(job)}`),
};
