// The state of the page. It is read from the API and kept up to date by the API's events.

import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { type About, api, ApiError, type Job, type LogLine, type Page, type Query, saved, type Stage, type Step } from "./api";

/**
 * Link is the state of the connection to the API: locked means that the API needs a token, ended
 * that the process of the run has ended.
 */
export type Link = "opening" | "live" | "away" | "ended" | "locked";

interface Change {
  job?: string;
  data?: unknown;
}

const maxLog = 1000;
const tellEvery = 200; // milliseconds between redraws
const noJob = "-"; // not the name of any job

/** Listing is a list of jobs that a component shows. page is undefined until it has been read. */
interface Listing {
  query: Query;
  page?: Page;
}

class Live {
  about: About = { kind: "", name: "", version: "" };
  stages: Stage[] = [];
  log: LogLine[] = [];
  link: Link = "opening";
  /** the API has been read at least once */
  loaded = false;
  error = "";
  /** the ID of the job whose supersteps the page follows */
  job = noJob;
  steps: Step[] = [];
  /** the supersteps have been read at least once */
  stepsRead = false;
  /** increases with every change of steps */
  version = 0;

  private listings = new Set<Listing>();
  /** jobs have changed since the listings were read */
  private stale = false;
  /** the page has read the followed job again, because the job had ended without supersteps */
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

  /** follow switches to the supersteps of a job, or of none if job is empty. */
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
      // The event of a job that a master has restored comes without supersteps.
      if (job.id !== this.job || this.restored || this.steps.length > 0) return;
      if (job.supersteps === 0 || job.state === "running" || job.state === "queued") return;
      this.restored = true;
      void this.load();
    });
    on("gone", (c) => {
      for (const { page } of this.listings) if (page) page.items = page.items.filter((j) => j.id !== c.job);
      this.stale = true;
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
      this.link = this.loaded ? "live" : "opening"; // opening until the first load
      this.tell();
    };
    source.onerror = () => {
      if (source !== this.source || this.link === "ended") return;
      this.link = "away";
      this.tell();
      if (source.readyState === EventSource.CLOSED) void this.load(); // load sets the error
    };
    this.polling ??= setInterval(() => void this.poll(), 1000);
  }

  /** list reads a list of jobs, and keeps it up to date until the returned function is called. */
  list(of: Listing): () => void {
    this.listings.add(of);
    if (this.loaded) void this.attempt(() => this.readPages([of]));
    else this.stale = true; // load may have read the lists before this one was added
    return () => this.listings.delete(of);
  }

  private async readListings() {
    this.stale = false;
    await this.readPages(this.listings);
  }

  /** readPages reads lists. If one of them cannot be read, poll reads all again. */
  private async readPages(some: Iterable<Listing>) {
    try {
      await Promise.all([...some].map(async (l) => (l.page = await api.jobs(l.query))));
    } catch (e) {
      this.stale = true;
      throw e;
    }
  }

  /** turned replaces a job whose state has changed. Lists that lack it are read again. */
  turned(job: Job) {
    for (const { page } of this.listings) if (page) page.items = page.items.map((j) => (j.id === job.id ? job : j));
    this.stale = true;
    this.tell();
  }

  /**
   * step adds a superstep. A superstep that runs again after a failure replaces the earlier one and
   * all later ones.
   */
  private step(step: Step) {
    while ((this.steps.at(-1)?.superstep ?? -1) >= step.superstep) this.steps.pop();
    this.steps.push(step);
    this.version++;
    this.tell();
  }

  /** poll reads lists with new or running jobs. No event reports the progress of a job. */
  private async poll() {
    const open = this.link === "live" || (this.link === "away" && this.source?.readyState === EventSource.OPEN);
    const running = () => [...this.listings].some((l) => l.page?.items.some((j) => j.state === "running"));
    if (this.inFlight || !open || document.hidden || !(this.stale || running())) return;
    this.inFlight = true;
    await this.attempt(async () => {
      await this.readListings();
      // Only a call had failed, not the stream.
      if (this.link === "away" && this.source?.readyState === EventSource.OPEN) this.link = "live";
    });
    this.inFlight = false;
  }

  async load() {
    const job = this.job;
    await this.attempt(async () => {
      [this.about, this.stages, this.log] = await Promise.all([api.about(), api.stages(), api.log(), this.readListings()]);
      if (this.stale) await this.readListings();
      this.loaded = true;
      if (this.link === "locked" || this.link === "opening") this.link = "live";
      if (job === noJob) return;
      const steps = await api.steps(job);
      if (job !== this.job) return;
      // Supersteps that events brought during the call are newer.
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

/** useLive redraws a component after every change of live. */
export function useLive(): Live {
  const [, again] = useReducer<number, void>((n) => n + 1, 0);
  useEffect(() => live.read(() => again()), []);
  return live;
}

/**
 * usePage returns the jobs that a query selects. After a change of the query it returns the earlier
 * page until the new one has been read.
 */
export function usePage(query: Query): Page | undefined {
  useLive();
  const now = useRef<Listing>({ query });
  const key = JSON.stringify(query);
  useEffect(() => {
    const before = now.current.page;
    now.current = before ? { query, page: before } : { query };
    return live.list(now.current);
  }, [key]);
  return now.current.page;
}

/** useRepeated reads at once and then every few seconds. The second result reads again. */
export function useRepeated<T>(read: () => Promise<T>): [T | undefined, () => Promise<void>, Error | undefined] {
  const [value, set] = useState<T>();
  const [error, fail] = useState<Error>();
  const ask = () => read().then((v) => { set(v); fail(undefined); }, fail);
  const { link: state } = useLive();
  useEffect(() => {
    void ask();
    const timer = state === "live" ? setInterval(() => document.hidden || void ask(), 2000) : undefined;
    return () => clearInterval(timer);
  }, [state]);
  return [value, ask, error];
}
