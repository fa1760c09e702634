// A form that submits a job to a cluster.

import { useEffect, useState } from "preact/hooks";
import { api, type Graph } from "./api";
import { live } from "./live";
import { link } from "./route";

/** parameters reads key=value, with blanks between. */
function parameters(text: string): Record<string, string> {
  const all: Record<string, string> = {};
  for (const part of text.split(/\s+/).filter((p) => p)) {
    const at = part.indexOf("=");
    if (at < 1) throw new Error(`parameters: found ${part}, expected KEY=VALUE`);
    all[part.slice(0, at)] = part.slice(at + 1);
  }
  return all;
}

/** wholeNumber reads digits; nothing is undefined. */
function wholeNumber(name: string, text: string): number | undefined {
  if (text === "") return undefined;
  const x = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(x)) throw new Error(`${name}: found ${text}, expected a whole number below 2^53`);
  return x;
}

export function Submit({ programs }: { programs: string[] }) {
  const [wrong, setWrong] = useState("");
  const [graphs, setGraphs] = useState<Graph[]>([]);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (open) api.graphs().then(setGraphs, () => undefined);
  }, [open]);
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    const form = new FormData(e.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    try {
      const job = await api.submit({
        program: text("program"), graph: text("graph"), parameters: parameters(text("parameters")), delivery: text("delivery"),
        seed: wholeNumber("seed", text("seed")), keep_result: form.has("keep"),
      });
      setWrong("");
      live.turned(job);
      location.hash = link("job", job.id);
    } catch (err) {
      setWrong((err as Error).message);
    }
  };
  return (
    <details class="panel submit" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Submit a job</summary>
      <form onSubmit={(e) => void submit(e)}>
        <label>
          Program{" "}
          <select name="program" required>
            {programs.map((p) => (
              <option key={p}>{p}</option>
            ))}
          </select>
        </label>
        <label>
          Graph <input name="graph" list="graphs" required placeholder="catalog:NAME, kronecker:scale=16, /path" size={32} />
        </label>
        <datalist id="graphs">
          {graphs.map((g) => (
            <option key={g.name} value={`catalog:${g.name}`} />
          ))}
        </datalist>
        <label>
          Parameters <input name="parameters" placeholder="source=1" size={24} />
        </label>
        <label>
          Delivery{" "}
          <select name="delivery">
            <option>auto</option>
            <option>push</option>
            <option>pull</option>
          </select>
        </label>
        <label>
          Seed <input name="seed" inputMode="numeric" placeholder="0" size={8} title="of the random numbers that the program draws" />
        </label>
        <label>
          <input name="keep" type="checkbox" /> keep the result
        </label>
        <button type="submit">Submit</button>
        {wrong && <p class="bad" role="alert">{wrong}</p>}
      </form>
    </details>
  );
}
