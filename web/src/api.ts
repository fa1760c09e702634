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
  began: string;
  state: string;
  error?: string;
  supersteps: number;
  seconds: number;
  messages: number;
  messages_sent: number;
  bytes: number;
  /** what the program's aggregators ended with */
  aggregators?: Record<string, string>;
  /** as a program that changes the graph has left it */
  graph_left?: GraphSize;
  said: string[] | null;
}

export interface Row {
  partition: number;
  expand: number;
  traverse: number;
  fold: number;
  compute: number;
  wait: number;
  active: number;
  senders: number;
  edges: number;
  messages: number;
  messages_sent: number;
  bytes: number;
  requests?: number;
}

export interface Pair {
  from: number;
  partition: number;
  exchange: string;
  encoding: string;
  messages: number;
  bytes: number;
}

export interface Detail {
  step: Step;
  rows: Row[];
  pairs: Pair[] | null;
  pairs_gone?: boolean;
}

export interface Total {
  partition: number;
  worker?: string;
  seconds: Seconds;
  active: number;
  edges: number;
  messages: number;
  messages_sent: number;
  bytes: number;
  memory?: number;
}

export interface Matrix {
  side: number;
  per: number;
  bytes: number[];
  summed?: boolean; // pairs are not told of
}

export interface Whole {
  totals: Total[];
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

/** Submission is a job as it is asked for. */
export interface Submission {
  program: string;
  graph: string;
  parameters: Record<string, string>;
  delivery: string;
  seed?: number;
  keep_result: boolean;
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

const base = "api/v1/";

/** ApiError is an answer that is none; status 401 asks for a token. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    text: string,
  ) {
    super(text);
  }
}

async function answer<T>(response: Response): Promise<T> {
  const body = await response.json().catch(() => ({ error: response.statusText }));
  if (!response.ok) throw new ApiError(response.status, body.error ?? response.statusText);
  return body as T;
}

async function get<T>(path: string): Promise<T> {
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
  lanes: (id: string, columns: number) => get<Lanes>(`${of(id)}/lanes?columns=${columns}`),
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
  submit: (job: Submission) => post<Job>("jobs", job),
  cancel: (id: string) => post<Job>(`${of(id)}/cancel`, {}),

  /** events opens the stream of what is new: of one job's supersteps, and of all else. */
  events: (job: string) => new EventSource(`${base}events?job=${encodeURIComponent(job)}`),
};
