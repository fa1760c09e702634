// Why the engine chose a superstep's delivery scheme.

import type { Step } from "./api";
import * as format from "./format";
import { named, schemeColor } from "./theme";

export function Decision({ step, pinned }: { step: Step; pinned: boolean }) {
  const costs = Object.entries(step.predicted ?? {}).sort((a, b) => a[1] - b[1]);
  // A very expensive scheme must not make the other bars too short to compare. Its bar is cut off.
  const least = costs[0]?.[1] ?? 0;
  const most = Math.min(Math.max(...costs.map(([, s]) => s), step.actual ?? 0), 8 * Math.max(least, step.actual ?? 0));
  const width = (s: number) => `${Math.min(Math.max((100 * s) / most, 0.5), 100)}%`;
  const over = (s: number) => (s > most * 1.001 ? "over" : "");
  const chosen = costs.find(([name]) => name === step.scheme)?.[1];
  const other = costs.find(([name]) => name !== step.scheme);
  return (
    <section class={`decision ${step.delivery}`} aria-label="Why it was chosen">
      <h3>
        Superstep {step.superstep}: <b class={step.delivery}>{format.verb(step.delivery)}</b>
        {other && chosen !== undefined && (
          <small> {comparison(chosen, other[1], other[0])}</small>
        )}
        {pinned && <small class="pin">chosen</small>}
      </h3>
      <p class="reason">
        {step.reason}
        {step.reason.includes("unfinished") && " (a vertex is unfinished while it can receive messages)"}
      </p>
      <div class="costs">
        {costs.map(([name, s]) => (
          <div class={name === step.scheme ? "cost taken" : "cost"} key={name}>
            <span>
              {name}
              {name === step.scheme && " ✓"}
            </span>
            <span class="bar">
              <i class={over(s)} style={{ width: width(s), background: named(schemeColor(name)) }} />
            </span>
            <span class="number">{format.seconds(s)}</span>
          </div>
        ))}
        {step.actual !== undefined && step.actual > 0 && (
          <div class="cost">
            <span>it took</span>
            <span class="bar">
              <i class="took" style={{ width: width(step.actual) }} />
            </span>
            <span class="number">{format.seconds(step.actual)}</span>
          </div>
        )}
      </div>
      {[...costs.map(([, s]) => s), step.actual ?? 0].some(over) && <p class="hint">A bar that fades out at the right is cut off: it is longer than there is room for.</p>}
      <dl class="facts">
        <Fact name="superstep" value={format.seconds(step.seconds.total)} />
        <Fact name="senders" value={format.count(step.senders)} />
        <Fact name="edges walked" value={format.count(step.edges)} />
        <Fact name="vertices run" value={format.count(step.active)} />
        <Fact name="messages sent on" value={format.count(step.messages)} />
        {step.partitions > 1 && <Fact name="between partitions" value={format.bytes(step.bytes)} />}
        {step.partitions > 1 && <Fact name="slowest over mean" value={`${(step.busy.mean > 0 ? step.busy.most / step.busy.mean : 1).toFixed(2)}×`} />}
      </dl>
    </section>
  );
}

function comparison(chosen: number, other: number, name: string): string {
  const factor = other / chosen;
  if (factor >= 1.05) return `predicted ${factor >= 10 ? Math.round(factor) : factor.toFixed(1)}× faster than ${name}`;
  if (factor > 0.95) return `predicted to take as long as ${name}`;
  return `though ${name} was predicted to be faster`;
}

export function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
