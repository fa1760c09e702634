// The wall clock of a job: the times of waiting, loading, running and writing, the lost attempts,
// and the log lines of that time.

import type { Job, LogLine, Stage } from "./api";
import * as format from "./format";
import { named } from "./theme";

interface Span {
  name: string;
  /** from and to are in milliseconds since 1970 */
  from: number;
  to: number;
  color: string;
  /** why an attempt was lost */
  error: string;
}

/** at returns a time in milliseconds since 1970, or 0 if it is unknown. */
const at = (time: string | undefined): number => Math.max(Date.parse(time ?? "") || 0, 0);

/** checkpoint is the stage of a checkpoint that is complete. */
export const checkpoint = "checkpoint";

/** begin returns the begin of an ended stage in milliseconds since 1970. */
const begin = (s: Stage): number => at(s.ended) - s.seconds! * 1e3;

/**
 * spans returns the parts of a job's time. stages has the stages of this job only. They are unknown
 * if the master restarted after the job.
 */
function spans(job: Job, stages: Stage[], now: number): Span[] {
  const end = at(job.finished) || now;
  const all: Span[] = [];
  const add = (name: string, from: number, to: number, color: string, error = "") => {
    if (from > 0 && to >= from) all.push({ name, from, to, color, error });
  };
  let start = Math.max(at(job.began), at(job.submitted));
  add("queued", at(job.submitted), start || end, "wait");
  job.lost?.forEach((a, i) => {
    const lost = at(a.finished);
    add(`attempt ${i + 1}`, start, lost, "bad", a.error);
    start = lost || start;
  });
  const own = stages.filter((s) => s.seconds && at(s.ended) > 0 && s.stage !== checkpoint && !s.stage.startsWith("running "));
  for (const s of own) add(s.stage, begin(s), at(s.ended), s.stage === "writing" ? "fold" : "expand");
  const newest = (stage: string) => own.findLast((s) => s.stage === stage && at(s.ended) >= start);
  const [loading, writing] = [newest("loading"), newest("writing")];
  const name = loading || !job.submitted ? "supersteps" : "loading and supersteps";
  if (job.supersteps > 0 && !job.kernels) add(name, loading ? at(loading.ended) : start, writing ? begin(writing) : end, "traverse");
  return all.sort((a, b) => a.from - b.from);
}

export function Clock({ job, stages, log }: { job: Job; stages: Stage[]; log: LogLine[] }) {
  const all = spans(job, stages, Date.now());
  if (all.length < 2) return null;
  const from = Math.min(...all.map((s) => s.from));
  const to = Math.max(...all.map((s) => s.to), from + 1);
  const percent = (ms: number) => `${(100 * ms) / (to - from)}%`;
  const checkpoints = stages.filter((s) => s.stage === checkpoint && at(s.ended) >= from);
  const lines = log.filter((l) => l.job === job.job && at(l.time) >= from && at(l.time) <= to);
  return (
    <section class="panel" aria-label="Wall clock">
      <h2>
        Wall clock <small>{format.when(new Date(from).toISOString())}, and {format.seconds((to - from) / 1e3)} from then</small>
      </h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="What the time went into">
        <table class="clock">
          <thead>
            <tr><th scope="col">what</th><th scope="col" class="track">when</th><th scope="col" class="n">after</th><th scope="col" class="n">took</th></tr>
          </thead>
          <tbody>
            {all.map((s, i) => (
              <tr key={i}>
                <td class="reason">{s.name}{s.error && `: ${s.error}`}</td>
                <td class="track"><i style={{ left: percent(s.from - from), width: percent(s.to - s.from), background: named(s.color) }} /></td>
                <td class="n">{format.seconds((s.from - from) / 1e3)}</td>
                <td class="n">{format.seconds((s.to - s.from) / 1e3)}</td>
              </tr>
            ))}
            {checkpoints.length > 0 && (
              <tr>
                <td>{checkpoints.length === 1 ? "1 checkpoint" : `${format.exact(checkpoints.length)} checkpoints`}</td>
                <td class="track">
                  {checkpoints.map((s, i) => (
                    <i key={i} title={`before ${s.part}: ${format.seconds(s.seconds!)}`} style={{ left: percent(Math.max(begin(s) - from, 0)), width: percent(Math.max(at(s.ended) - Math.max(begin(s), from), 0)), background: named("mark") }} />
                  ))}
                </td>
                <td class="n">{format.seconds(Math.max((begin(checkpoints[0]!) - from) / 1e3, 0))}</td>
                <td class="n">{format.seconds(checkpoints.reduce((sum, s) => sum + s.seconds!, 0))}</td>
              </tr>
            )}
            {lines.length > 0 && (
              <tr>
                <td>log</td>
                <td class="track">{lines.map((l, i) => <i class="tick" key={i} title={l.text} style={{ left: percent(at(l.time) - from) }} />)}</td>
                <td class="n" colSpan={2}>{lines.length === 1 ? "1 line" : `${format.exact(lines.length)} lines`}</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}
