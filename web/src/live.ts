// What the page knows: read from the API, kept up to date by its events.

import { useEffect, useReducer } from "preact/hooks";
import { type About, api, ApiError, type Job, type LogLine, saved, type Stage, type Step } from "./api";

/** Link is how the page stands with its source: locked wants a token, ended means that the run's process has. */
export type Link = "opening" | "live" | "away" | "ended" | "locked";

interface Change {
  job?: string;
  data?: unknown;
}

const maxLog = 1000;
const tellEvery = 200; // milliseconds between drawings of what is new
const mostPolled = 20; // running jobs whose figures are kept up to date
const noJob = "-"; // no job's name

class Live {
  about: About = { kind: "", name: "", version: "" };
  jobs: Job[] = [];
  stages: Stage[] = [];
  log: LogLine[] = [];
  link: Link = "opening";
  /** the jobs have been read once: before that nothing is known, not even that there are none */
  loaded = false;
  error = "";
  /** the job whose supersteps are followed */
  job = noJob;
  steps: Step[] = [];
  /** they have been read once */
  stepsRead = false;
  /** grows with every change of steps */
  version = 0;

  /** the job followed was read again, as it had ended without supersteps */
  private restored = false;
  private source: EventSource | undefined;
  private readers = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private inFlight = false;
  private polling: ReturnType<typeof setInterval> | undefined;

  read(f: () => void): () => void {
    this.readers.add(f);
    return () => this.readers.delete(f);
  }

  private tell(now = false) {
    if (now) {
      clearTimeout(this.timer);
      this.timer = undefined;
      for (const f of this.readers) f();
    } else if (this.timer === undefined) {
      this.timer = setTimeout(() => this.tell(true), tellEvery);
    }
  }

  /** follow turns to a job, or to none. */
  follow(job: string) {
    if (job === "") job = noJob;
    if (job === this.job && (this.source || saved)) return;
    this.job = job;
    this.steps = [];
    this.stepsRead = false;
    this.restored = false;
    this.version++;
    if (this.link === "ended") void this.load();
    else this.open();
  }

  open() {
    if (saved) {
      void this.load();
      return;
    }
    this.source?.close();
    const source = api.events(this.job);
    this.source = source;
    const on = (kind: string, f: (c: Change) => void) =>
      source.addEventListener(kind, (e) => {
        if (source === this.source) f(JSON.parse((e as MessageEvent<string>).data) ?? {});
      });
    on("hello", () => void this.load());
    on("reset", () => void this.load());
    on("bye", () => {
      source.close();
      this.link = "ended";
      this.tell();
    });
    on("job", (c) => {
      const job = c.data as Job;
      this.turned(job);
      // What a master restores comes without its supersteps.
      if (job.id !== this.job || this.restored || this.steps.length > 0) return;
      if (job.supersteps === 0 || job.state === "running" || job.state === "queued") return;
      this.restored = true;
      void this.load();
    });
    on("gone", (c) => {
      this.jobs = this.jobs.filter((j) => j.id !== c.job);
      this.tell();
    });
    on("step", (c) => {
      if (c.job === this.job) this.step(c.data as Step);
    });
    on("stage", (c) => {
      const stage = c.data as Stage;
      const i = this.stages.findIndex((s) => s.stage === stage.stage && s.job === stage.job && !s.seconds);
      const before = this.stages[i];
      stage.seen = before?.seen && before.part === stage.part ? before.seen : { at: performance.now(), done: stage.done ?? 0 };
      this.stages = i < 0 ? [...this.stages.slice(1 - maxLog), stage] : this.stages.with(i, stage);
      this.tell();
    });
    on("log", (c) => {
      this.log = [...this.log.slice(1 - maxLog), c.data as LogLine];
      this.tell();
    });
    source.onopen = () => {
      if (source !== this.source) return;
      this.link = this.loaded ? "live" : "opening"; // until there is something to see
      this.tell();
    };
    source.onerror = () => {
      if (source !== this.source || this.link === "ended") return;
      this.link = "away";
      this.tell();
      if (source.readyState === EventSource.CLOSED) void this.load(); // says why
    };
    this.polling ??= setInterval(() => void this.poll(), 1000);
  }

  /** turned takes in a job that is new, or in another state. */
  turned(job: Job) {
    const i = this.jobs.findIndex((j) => j.id === job.id);
    if (i < 0) this.jobs = [...this.jobs, job];
    else this.jobs = this.jobs.with(i, job);
    this.tell();
  }

  /** step takes in a superstep; one that ran before, and runs again after a failure, replaces it and what came after. */
  private step(step: Step) {
    while ((this.steps.at(-1)?.superstep ?? -1) >= step.superstep) this.steps.pop();
    this.steps.push(step);
    this.version++;
    this.tell();
  }

  /** poll keeps the figures of running jobs up to date, which no event tells. */
  private async poll() {
    const open = this.link === "live" || (this.link === "away" && this.source?.readyState === EventSource.OPEN);
    if (this.inFlight || !open || document.hidden || !this.jobs.some((j) => j.state === "running")) return;
    this.inFlight = true;
    await this.attempt(async () => {
      const followed = (j: Job) => Number(j.id === this.job);
      const running = this.jobs.filter((j) => j.state === "running").sort((a, b) => followed(b) - followed(a)).slice(0, mostPolled);
      const gone = (e: unknown) => {
        if (!(e instanceof ApiError && e.status === 404)) throw e; // one that is gone has an event
      };
      const found = await Promise.all(running.map((j) => api.job(j.id).catch(gone)));
      if (this.link === "away" && this.source?.readyState === EventSource.OPEN) this.link = "live"; // a call alone had failed
      for (const j of found) if (j) this.jobs = this.jobs.map((old) => (old.id === j.id && old.state === "running" ? j : old));
    });
    this.inFlight = false;
  }

  async load() {
    const job = this.job;
    await this.attempt(async () => {
      [this.about, this.jobs, this.stages, this.log] = await Promise.all([api.about(), api.jobs(), api.stages(), api.log()]);
      this.loaded = true;
      if (this.link === "locked" || this.link === "opening") this.link = "live";
      if (job === noJob) return;
      const steps = await api.steps(job);
      if (job !== this.job) return;
      // What came by events while the answer was under way is newer.
      const newer = this.steps.filter((s) => s.superstep > (steps.at(-1)?.superstep ?? -1));
      this.steps = steps.concat(newer);
      this.stepsRead = true;
      this.version++;
    });
  }

  private async attempt(f: () => Promise<void>) {
    try {
      await f();
      this.error = "";
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) {
        this.link = "locked";
        this.source?.close();
        this.source = undefined;
      } else if (e instanceof ApiError) {
        this.error = e.message;
      } else if (this.link !== "ended") {
        this.link = "away";
      }
    }
    this.tell();
  }

  async enter(token: string) {
    await api.enter(token);
    this.link = "opening";
    this.open();
  }
}

export const live = new Live();

/** useLive draws a component anew when something is new. */
export function useLive(): Live {
  const [, again] = useReducer<number, void>((n) => n + 1, 0);
  useEffect(() => live.read(() => again()), []);
  return live;
}
