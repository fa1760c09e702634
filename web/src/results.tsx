// The result of a job: the greatest and the least values, a histogram, and the value of one vertex.

import { useEffect, useId, useState } from "preact/hooks";
import { api, type ApiError, type Bin, type FieldValues, type ValueRow, type Values } from "./api";
import { Fact } from "./decision";
import * as format from "./format";

const askEvery = 500; // milliseconds, while the server reads the result

/** Result is closed at first. Opening it makes the server read the whole result once. */
export function Result({ job }: { job: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="panel result" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Result</summary>
      {open && <Opened job={job} />}
    </details>
  );
}

function Opened({ job }: { job: string }) {
  const [values, setValues] = useState<Values>();
  const [read, setRead] = useState(0);
  const [wrong, setWrong] = useState("");
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let gone = false;
    const ask = () =>
      api.values(job).then(
        (v) => {
          if (gone) return;
          if ("fields" in v) return setValues(v);
          setRead(v.read);
          timer = setTimeout(ask, askEvery);
        },
        (e: Error) => gone || setWrong(e.message),
      );
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [job]);
  if (wrong) return <p class="quiet" role="status">{wrong}</p>;
  if (!values) return <p class="quiet" role="status">The result is read{read > 0 && `: ${format.bytes(read)}`}…</p>;
  const field = values.fields[chosen]!;
  const names = values.fields.map((f) => f.name);
  return (
    <>
      <div class="row">
        {values.fields.length > 1 && (
          <label>
            Field{" "}
            <select value={chosen} onChange={(e) => setChosen(+e.currentTarget.value)}>
              {names.map((name, i) => <option key={name} value={i}>{name}</option>)}
            </select>
          </label>
        )}
        <a href={api.result(job)} download={`${job}.txt`}>Download all {format.exact(values.vertices)} lines</a>
      </div>
      <dl class="facts" aria-label={`Values of ${field.name}`}>
        <Fact name="vertices" value={format.exact(values.vertices)} />
        {field.numbers > 0 && (
          <>
            <Fact name="least" value={String(field.least)} />
            <Fact name="mean" value={String(Number(field.mean.toPrecision(6)))} />
            <Fact name="greatest" value={String(field.greatest)} />
          </>
        )}
        {field.infinite > 0 && <Fact name="infinite" value={format.exact(field.infinite)} />}
        {field.nan > 0 && <Fact name="no number" value={format.exact(field.nan)} />}
        {field.texts > 0 && <Fact name="texts" value={format.exact(field.texts)} />}
      </dl>
      <Find job={job} names={names} />
      {field.numbers > 0 && (
        <>
          <Histogram field={field} />
          <Rows field={field} names={names} />
        </>
      )}
    </>
  );
}

/** Find looks up the value of a vertex. */
function Find({ job, names }: { job: string; names: string[] }) {
  const id = useId();
  const [found, setFound] = useState<ValueRow>();
  const [said, setSaid] = useState("");
  const find = (e: SubmitEvent) => {
    e.preventDefault();
    const vertex = String(new FormData(e.currentTarget as HTMLFormElement).get("vertex")).trim();
    if (!vertex) return;
    setSaid("Looking…");
    setFound(undefined);
    api.value(job, vertex).then(
      (row) => { setFound(row); setSaid(""); },
      (err: ApiError) => setSaid(err.message),
    );
  };
  return (
    <form class="row find" onSubmit={find} role="search">
      <label for={id}>Vertex</label>
      <input id={id} name="vertex" placeholder="id or name" autocomplete="off" spellcheck={false} />
      <button type="submit">Find</button>
      <span role="status">
        {said}
        {found && <><b>{found.vertex}</b>: {found.values.map((v, i) => (names.length > 1 ? `${names[i] ?? ""} ${v}` : v)).join(", ")}</>}
      </span>
    </form>
  );
}

const shown = [10, 20, 50, 100];

/** Rows shows the vertices with the greatest or the least values. */
function Rows({ field, names }: { field: FieldValues; names: string[] }) {
  const [least, setLeast] = useState(false);
  const [most, setMost] = useState(shown[0]!);
  const rows = (least ? field.bottom : field.top).slice(0, most);
  return (
    <>
      <div class="row">
        <label>
          Show{" "}
          <select name="end" value={least ? "least" : "greatest"} onChange={(e) => setLeast(e.currentTarget.value === "least")}>
            <option value="greatest">the greatest</option>
            <option value="least">the least</option>
          </select>
        </label>
        <label>
          <span class="hidden">How many</span>
          <select name="most" value={most} onChange={(e) => setMost(+e.currentTarget.value)}>
            {shown.map((n) => <option key={n} value={n}>{n}</option>)}
          </select>
        </label>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Vertices">
        <table class="values">
          <caption class="hidden">The vertices of {least ? "least" : "greatest"} {field.name}</caption>
          <thead>
            <tr>
              <th scope="col" class="n">#</th>
              <th scope="col">vertex</th>
              {names.map((name) => <th scope="col" class="n" key={name} aria-sort={name === field.name ? (least ? "ascending" : "descending") : undefined}>{name}</th>)}
            </tr>
          </thead>
          <tbody>
            {rows.map((r, i) => (
              <tr key={r.vertex}>
                <td class="n">{i + 1}</td>
                <td class="clip">{r.vertex}</td>
                {r.values.map((v, k) => <td class="n" key={k}>{v}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/**
 * Histogram shows a bar for each bin. The length is the number of vertices, or its logarithm if the
 * numbers differ widely.
 */
function Histogram({ field }: { field: FieldValues }) {
  const [log, setLog] = useState(field.log_bins.length > 0);
  const bins = log && field.log_bins.length > 0 ? field.log_bins : field.bins;
  useEffect(() => setLog(field.log_bins.length > 0), [field]);
  if (bins.length === 0) return null;
  const most = Math.max(...bins.map((b) => b.count), 1);
  const height = (b: Bin) => (b.count === 0 ? 0 : Math.max(2, Math.round((100 * Math.log1p(b.count)) / Math.log1p(most))));
  const single = (b: Bin) => b.to - b.from === 1 && Number.isInteger(b.from);
  const range = (b: Bin) => (single(b) ? String(b.from) : `${three(b.from)} to ${three(b.to)}`);
  return (
    <figure>
      <figcaption>
        <h3>How the values are spread <small>heights by the logarithm of the number of vertices</small></h3>
        {field.log_bins.length > 0 && (
          <label>
            Bars of{" "}
            <select value={log ? "log" : "linear"} onChange={(e) => setLog(e.currentTarget.value === "log")}>
              <option value="log">the same ratio, without 0 and below</option>
              <option value="linear">the same width</option>
            </select>
          </label>
        )}
      </figcaption>
      <svg class="histogram" viewBox={`0 0 ${bins.length * 10} 100`} preserveAspectRatio="none" role="img"
        aria-label={`${bins.length} bars from ${range(bins[0]!)} on; most vertices, ${format.exact(most)}, at ${range(bins.find((b) => b.count === most) ?? bins[0]!)}`}>
        {bins.map((b, i) => (
          <g key={i}>
            <title>{`${range(b)}: ${format.exact(b.count)}`}</title>
            <rect x={i * 10} y={0} width={10} height={100} class="ground" />
            <rect x={i * 10 + 1} y={100 - height(b)} width={8} height={height(b)} class="bar" />
          </g>
        ))}
      </svg>
      <p class="ends"><span>{single(bins[0]!) ? bins[0]!.from : three(bins[0]!.from)}</span> <span>{single(bins.at(-1)!) ? bins.at(-1)!.from : three(bins.at(-1)!.to)}</span></p>
      <details class="more">
        <summary>The bars as a table</summary>
        <table>
          <thead><tr><th scope="col">values</th><th scope="col" class="n">vertices</th></tr></thead>
          <tbody>{bins.map((b, i) => <tr key={i}><td>{range(b)}</td><td class="n">{format.exact(b.count)}</td></tr>)}</tbody>
        </table>
      </details>
    </figure>
  );
}

const three = (x: number) => Number(x.toPrecision(3)).toString();
