// The tables of the charts' data. A table gets its rows when it is opened.

import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Step } from "./api";
import * as format from "./format";
import type { Bar } from "./partitions";

const page = 100;

interface Column<T> {
  name: string;
  text: (row: T) => string | number;
  left?: boolean;
}

interface Props<T> {
  title: string;
  /** returns the rows; called only while the table is open */
  rows: () => T[];
  columns: Column<T>[];
  keyOf: (row: T) => string | number;
  current?: (row: T) => boolean;
  pick?: (row: T) => void;
  /** returns the index of the row whose page is shown first */
  at?: (rows: T[]) => number;
}

/** Table is a table in pages. It is closed at first. */
export function Table<T>({ title, rows: make, columns, keyOf, current, pick, at }: Props<T>) {
  const [open, setOpen] = useState(false);
  const [start, setStart] = useState<number>();
  const rows = open ? make() : [];
  const pages = Math.max(Math.ceil(rows.length / page), 1);
  const p = Math.min(start ?? Math.floor(Math.max(at?.(rows) ?? 0, 0) / page), pages - 1);
  const cell = (c: Column<T>, row: T, i: number): ComponentChildren => {
    const text = c.text(row);
    if (i > 0 || !pick) return text;
    return (
      <button type="button" class="link" onClick={() => pick(row)}>
        {text}
      </button>
    );
  };
  return (
    <details class="more" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{title} as a table</summary>
      {open && (
        <>
          <div class="scroll" tabIndex={0} role="region" aria-label={`${title} as a table`}>
            <table>
              <caption class="hidden">{title}</caption>
              <thead>
                <tr>
                  {columns.map((c) => (
                    <th scope="col" class={c.left ? "" : "n"} key={c.name}>
                      {c.name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.slice(p * page, (p + 1) * page).map((row) => (
                  <tr key={keyOf(row)} aria-current={current?.(row) ? "true" : undefined}>
                    {columns.map((c, i) => (
                      <td class={c.left ? "" : "n"} key={c.name}>
                        {cell(c, row, i)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {pages > 1 && (
            <p class="pages">
              <button type="button" disabled={p === 0} onClick={() => setStart(p - 1)}>
                Previous
              </button>
              {p * page} to {Math.min((p + 1) * page, rows.length) - 1} of {rows.length}
              <button type="button" disabled={p === pages - 1} onClick={() => setStart(p + 1)}>
                Next
              </button>
            </p>
          )}
        </>
      )}
    </details>
  );
}

/** changes has the additional columns for a program that changes the graph. */
const changes: Column<Step>[] = [
  { name: "requests", text: (s) => format.exact(s.requests ?? 0) },
  { name: "vertices after", text: (s) => (s.graph ? format.exact(s.graph.vertices) : "-") },
  { name: "arcs after", text: (s) => (s.graph ? format.exact(s.graph.arcs) : "-") },
];

export function StepTable({ steps, selected, onSelect }: { steps: Step[]; selected: number | undefined; onSelect: (s: number) => void }) {
  return (
    <Table
      title="Supersteps"
      rows={() => steps}
      keyOf={(s) => s.superstep}
      current={(s) => s.superstep === selected}
      pick={(s) => onSelect(s.superstep)}
      at={(rows) => (selected === undefined ? 0 : rows.findIndex((s) => s.superstep >= selected))}
      columns={[
        { name: "superstep", text: (s) => s.superstep },
        ...(steps.some((s) => s.phase) ? [{ name: "phase", text: (s: Step) => `${s.phase} ${s.program}`, left: true }] : []),
        { name: "delivery", text: (s) => s.delivery, left: true },
        { name: "scheme", text: (s) => s.scheme, left: true },
        { name: "time", text: (s) => format.seconds(s.seconds.total) },
        { name: "expand", text: (s) => format.seconds(s.seconds.expand) },
        { name: "traverse", text: (s) => format.seconds(s.seconds.traverse) },
        { name: "fold", text: (s) => format.seconds(s.seconds.fold) },
        { name: "compute", text: (s) => format.seconds(s.seconds.compute) },
        { name: "wait", text: (s) => format.seconds(s.seconds.wait) },
        { name: "senders", text: (s) => format.exact(s.senders) },
        { name: "ran", text: (s) => format.exact(s.active) },
        { name: "edges", text: (s) => format.exact(s.edges) },
        { name: "bytes", text: (s) => format.bytes(s.bytes) },
        ...(steps.some((s) => s.requests || s.graph) ? changes : []),
        { name: "memory", text: (s) => (s.memory ? format.bytes(s.memory) : "-") },
        { name: "why", text: (s) => s.reason, left: true },
      ]}
    />
  );
}

export function PartitionTable({ bars }: { bars: Bar[] }) {
  return (
    <Table
      title="Partitions"
      rows={() => bars}
      keyOf={(b) => b.partition}
      columns={[
        { name: "partition", text: (b) => b.partition },
        ...(bars.some((b) => b.worker) ? [{ name: "worker", text: (b: Bar) => b.worker, left: true }] : []),
        { name: "worked", text: (b) => format.seconds(b.busy) },
        { name: "expand", text: (b) => format.seconds(b.times.expand) },
        { name: "traverse", text: (b) => format.seconds(b.times.traverse) },
        { name: "fold", text: (b) => format.seconds(b.times.fold) },
        { name: "compute", text: (b) => format.seconds(b.times.compute) },
        { name: "wait", text: (b) => format.seconds(b.times.wait) },
        { name: "ran", text: (b) => format.exact(b.active) },
        { name: "edges", text: (b) => format.exact(b.edges) },
        { name: "values sent", text: (b) => format.exact(b.sent) },
        { name: "bytes sent", text: (b) => format.bytes(b.bytes) },
      ]}
    />
  );
}

export function PairTable({ bytes, side, group }: { bytes: number[]; side: number; group: (i: number) => string }) {
  const rows = useMemo(() => () => largest(bytes, side), [bytes]);
  return (
    <Table
      title="Pairs, the largest first,"
      rows={rows}
      keyOf={(p) => p.from * side + p.to}
      columns={[
        { name: "from", text: (p) => group(p.from) },
        { name: "to", text: (p) => group(p.to) },
        { name: "bytes", text: (p) => format.exact(p.b) },
      ]}
    />
  );
}

const largest = (bytes: number[], side: number) =>
  bytes
    .map((b, i) => ({ from: Math.floor(i / side), to: i % side, b }))
    .filter((p) => p.b > 0)
    .sort((a, b) => b.b - a.b)
    .slice(0, 1000);
