// The page: its header, and the view that the URL names.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { api, type Graph, type Page, saved } from "./api";
import { Compare } from "./compare";
import { Sure } from "./form";
import * as format from "./format";
import { Jobs, JobPage, Start } from "./jobs";
import { type Link, live, useLive, usePage, useRepeated } from "./live";
import { link, useRoute } from "./route";
import { LoadForm } from "./submit";
import { apply, setTheme, theme, type Theme } from "./theme";
import { Lines, WorkerPage, Workers } from "./workers";

/** words describes the state of the connection. */
function words(state: Link, kind: string): string {
  if (state === "live" && kind === "file") return "a saved trace";
  if (state === "live" && kind === "report") return "a report";
  if (state === "ended" && kind === "master") return "the master has stopped";
  return linkWords[state];
}

const linkWords: Record<Link, string> = {
  opening: "loading…", live: "live", away: "not reachable, trying again", ended: "the run has ended", locked: "locked",
};

function App() {
  const { about, link: state, error } = useLive();
  const newest = usePage({ sort: "-", limit: "2" });
  const [page = "", ...rest] = useRoute();
  useEffect(() => {
    document.title = about.name ? `${about.name.slice(0, 60)} · superstep` : "superstep";
  }, [about.name]);
  const places: [string, string][] = [["jobs", "Jobs"], ["compare", "Compare"], ["graphs", "Graphs"], ["workers", "Workers"], ["log", "Log"]];
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to the content
      </a>
      <header>
        <div class="row">
          <h1>superstep</h1>
          <span class="source" title={about.name}>{about.name}</span>
          <span class={`link ${state}`} role="status">
            {words(state, about.kind)}
          </span>
          <ThemeChoice />
        </div>
        <nav aria-label="Pages">
          {places.map(([name, text]) => (
            <a key={name} href={link(name)} aria-current={page === name || (name === "jobs" && (page === "job" || page === "")) ? "page" : undefined}>
              {text}
            </a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        {error && <p class="bad" role="alert">{error}</p>}
        {state === "locked" ? <Locked /> : <Content page={page} rest={rest} newest={newest} />}
      </main>
      <footer>
        superstep {about.version} ·{" "}
        {saved ? <a href={link("licences")}>licences</a> : <><a href="api/v1/openapi.json">API</a> · <a href="licences.txt">licences</a></>}
      </footer>
    </>
  );
}

function Content({ page, rest, newest }: { page: string; rest: string[]; newest: Page | undefined }) {
  switch (page) {
    case "":
      return <Start newest={newest} />;
    case "jobs":
      return <Jobs />;
    case "job":
      return <JobPage id={rest[0] ?? ""} key={rest[0]} />;
    case "compare":
      return <Compare a={rest[0] || (newest?.items.at(-1)?.id ?? "")} b={rest[1] || (newest?.items[0]?.id ?? "")} />;
    case "graphs":
      return <Graphs />;
    case "workers":
      return rest[0] ? <WorkerPage name={rest[0]} key={rest[0]} /> : <Workers />;
    case "log":
      return <Log />;
    case "licences":
      return <pre class="panel scroll">{String(saved?.get("licences") ?? "")}</pre>;
    default:
      return <p class="quiet">There is no such page. <a href={link("jobs")}>Jobs</a></p>;
  }
}

function ThemeChoice() {
  const [t, set] = useState<Theme>(theme);
  return (
    <label class="theme">
      <span class="hidden">Colours</span>
      <select value={t} onChange={(e) => { const to = e.currentTarget.value as Theme; set(to); setTheme(to); }}>
        <option value="auto">as the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

function Locked() {
  const [wrong, setWrong] = useState("");
  const submit = (e: SubmitEvent) => {
    e.preventDefault();
    const field = (e.currentTarget as HTMLFormElement).elements.namedItem("token") as HTMLInputElement;
    live.enter(field.value.trim()).catch((err: Error) => setWrong(err.message));
  };
  return (
    <form class="panel" onSubmit={submit}>
      <h2>A token is needed</h2>
      <p>Open the link that superstep printed when it started. Or enter the first line of its token file: --http-token-file of a run, --token-file of a master.</p>
      <label>
        Token <input name="token" type="password" autocomplete="off" required />
      </label>{" "}
      <button type="submit">Enter</button>
      {wrong && <p class="bad" role="alert">{wrong}</p>}
    </form>
  );
}

function Graphs() {
  const [graphs, again] = useRepeated<Graph[]>(api.graphs);
  const { about } = useLive();
  const mine = about.programs !== undefined; // true if this is a cluster with a catalog
  return (
    <>
    {mine && <LoadForm onLoad={() => void again()} />}
    <section class="panel">
      <h2>Graphs <small>in memory</small></h2>
      {graphs?.length === 0 && <p class="quiet">There are none.</p>}
      {graphs && graphs.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="List of graphs">
          <table>
            <thead>
              <tr>
                <th scope="col">graph</th><th scope="col">source</th><th scope="col">state</th><th scope="col" class="n">vertices</th><th scope="col" class="n">arcs</th>
                <th scope="col">kind</th><th scope="col">grid</th><th scope="col" class="n">memory</th><th scope="col" class="n">loaded in</th>
                {mine && <th scope="col"><span class="hidden">Drop</span></th>}
              </tr>
            </thead>
            <tbody>
              {graphs.map((g) => (
                <tr key={g.name}>
                  <td class="clip">{g.name}</td><td class="clip">{g.source ?? "-"}</td><td>{graphState(g)}</td><td class="n">{known(g, format.exact(g.vertices))}</td>
                  <td class="n">{known(g, format.exact(g.arcs))}</td><td>{known(g, g.directed ? "directed" : "undirected")}</td><td>{g.grid ?? "-"}</td>
                  <td class="n">{known(g, format.bytes(g.bytes))}</td><td class="n">{known(g, format.seconds(g.load_seconds))}</td>
                  {mine && (
                    <td>
                      <Sure button="Drop" question={`Drop ${g.name}?`} yes="Drop it" no="Keep it" act={async () => { await api.drop(g.name); await again(); }} />
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
    </>
  );
}

/** known returns text if the graph is loaded, and a dash otherwise. */
const known = (g: Graph, text: string): string => (g.vertices > 0 || g.load_seconds > 0 ? text : "-");

function graphState(g: Graph) {
  if (g.reason) return `${g.state}: ${g.reason}`;
  if (!g.stage) return g.state;
  return `${g.state}: ${g.stage}${g.total ? ` ${format.percent(g.done ?? 0, g.total)}` : ""}`;
}

function Log() {
  const { log, loaded } = useLive();
  return (
    <section class="panel">
      <h2>Log</h2>
      {log.length === 0 && <p class="quiet">{loaded ? "Nothing was logged." : "Loading…"}</p>}
      <Lines of={log} />
    </section>
  );
}

apply();
live.open();
const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
