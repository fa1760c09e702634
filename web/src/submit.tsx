// The forms of a cluster: a job that runs a program, a Graph500 job, and a graph for the catalog.
// They have the same fields as the command line.

import { useEffect, useState } from "preact/hooks";
import { api, type Forms, type Graph, type Input, type Parameter } from "./api";
import { Check, Choice, type Data, Form, type Problem, Text } from "./form";
import { live } from "./live";
import { link } from "./route";

/** usual returns the choices for a field whose default is the first word. */
const usual = (words: string[]) => words.map((w, i) => (i === 0 ? (["", w] as const) : w));
/** orFound returns the choices for a field with automatic detection as the default. */
const orFound = (words: readonly (string | readonly [string, string])[], called = "found out") => [["", called] as const, ...words];
const yesNo = [["true", "yes"], ["false", "no"]] as const;

/** useForms reads the choices that the cluster offers, as soon as wanted is true. */
function useForms(wanted: boolean): { forms: Forms | undefined; wrong: string } {
  const [forms, setForms] = useState<Forms>();
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    if (wanted && !forms) api.forms().then(setForms, (e: Error) => setWrong(e.message));
  }, [wanted]);
  return { forms, wrong };
}

/** Submit has the forms that submit jobs. */
export function Submit() {
  return (
    <>
      <ProgramForm />
      <Graph500Form />
    </>
  );
}

async function submit(job: Parameters<typeof api.submit>[0]) {
  const made = await api.submit(job);
  live.turned(made);
  location.hash = link("job", made.id);
}

function ProgramForm() {
  const [open, setOpen] = useState(false);
  const { forms, wrong } = useForms(open);
  const [program, setProgram] = useState("");
  const [graph, setGraph] = useState("");
  const chosen = forms?.programs.find((p) => p.name === program) ?? forms?.programs[0];
  const send = (d: Data) =>
    submit({
      program: d.text("program"), parameters: d.below("parameters."), ...inputOf(d), delivery: d.text("delivery"), deterministic: d.checked("deterministic"),
      max_supersteps: d.number("max_supersteps"), seed: d.number("seed"), priority: d.text("priority"), superstep_timeout: d.text("superstep_timeout"),
      keep_result: d.checked("keep_result"),
    });
  return (
    <Form title="Submit a job" button="Submit" send={send} onOpen={() => setOpen(true)}>
      {(problem) =>
        !forms || !chosen ? <p class={wrong ? "bad" : "quiet"}>{wrong || "Loading…"}</p> : (
          <>
            <div class="fields">
              <Choice name="program" label="Program" help={chosen.help} problem={problem} words={forms.programs.map((p) => p.name)} value={chosen.name} onChange={setProgram} />
              <GraphField forms={forms} catalog problem={problem} onInput={setGraph} />
            </div>
            {chosen.parameters.length > 0 && (
              <fieldset class="fields" key={chosen.name}>
                <legend>Parameters of {chosen.name}</legend>
                {chosen.parameters.map((p) => <ParameterField key={p.name} of={p} problem={problem} />)}
              </fieldset>
            )}
            <InputFields forms={forms} problem={problem} disabled={graph.trim().startsWith("catalog:")} />
            <details>
              <summary>How it runs</summary>
              <div class="fields">
                <Choice name="delivery" label="Delivery" help="by the model's choice, or always in one way" problem={problem} words={usual(forms.deliveries)} />
                <Text name="max_supersteps" label="Supersteps at most" placeholder="no limit" numeric problem={problem} />
                <Text name="seed" label="Seed" help="of the random numbers that the program draws" placeholder="0" numeric problem={problem} />
                <Text name="superstep_timeout" label="Time of a superstep at most" placeholder="no limit, or such as 30s" problem={problem} />
                <Choice name="priority" label="Priority" help="high is for operators" problem={problem} words={orFound(forms.priorities.filter((w) => w !== "normal"), "normal")} />
                <Check name="deterministic" label="deterministic: results that do not depend on threads, partitions and delivery" />
              </div>
            </details>
            <Check name="keep_result" label="keep the result" checked />
          </>
        )
      }
    </Form>
  );
}

/**
 * ParameterField is the field of a program's parameter. The kind of the parameter decides its
 * control.
 */
function ParameterField({ of: p, problem }: { of: Parameter; problem: Problem }) {
  const common = { name: `parameters.${p.name}`, label: p.name, help: p.help, problem };
  const left = p.default ? `${p.default} (default)` : "not given";
  if (p.kind === "word" && !p.list) return <Choice {...common} words={orFound((p.words ?? []).filter((w) => w !== p.default), left)} />;
  if (p.kind === "switch" && !p.list) return <Choice {...common} words={orFound(["true", "false"].filter((w) => w !== p.default), left)} />;
  return <Text {...common} required={p.required} placeholder={p.default || p.value} numeric={!p.list && p.kind === "integer"} />;
}

function Graph500Form() {
  const [open, setOpen] = useState(false);
  const { forms, wrong } = useForms(open);
  const send = (d: Data) =>
    submit({
      graph500: {
        scale: d.number("graph500.scale"), edge_factor: d.number("graph500.edge_factor"), roots: d.number("graph500.roots"), seed1: d.number("graph500.seed1"),
        seed2: d.number("graph500.seed2"), sssp: d.checked("graph500.sssp"), no_validate: !d.checked("validate"),
      },
      grid: d.text("grid"), partitions: d.number("partitions"), delivery: d.text("delivery"),
    });
  return (
    <Form title="Run Graph500" button="Run" send={send} onOpen={() => setOpen(true)}>
      {(problem) =>
        !forms ? <p class={wrong ? "bad" : "quiet"}>{wrong || "Loading…"}</p> : (
          <>
            <div class="fields">
              <Text name="graph500.scale" label="Scale" help="2^scale vertices" required numeric problem={problem} />
              <Text name="graph500.edge_factor" label="Edge factor" placeholder={String(forms.graph500.edge_factor)} numeric problem={problem} />
              <Text name="graph500.roots" label="Roots" help="to search from" placeholder={String(forms.graph500.roots)} numeric problem={problem} />
              <Text name="graph500.seed1" label="First seed" placeholder={String(forms.graph500.seed1)} numeric problem={problem} />
              <Text name="graph500.seed2" label="Second seed" placeholder={String(forms.graph500.seed2)} numeric problem={problem} />
              <Choice name="delivery" label="Delivery" problem={problem} words={usual(forms.deliveries)} />
              <Cut problem={problem} />
            </div>
            <Check name="graph500.sssp" label="kernel 3 (shortest paths), too" /> <Check name="validate" label="validate" checked />
          </>
        )
      }
    </Form>
  );
}

/** LoadForm is the form that loads a graph into the catalog. */
export function LoadForm({ onLoad }: { onLoad: () => void }) {
  const [open, setOpen] = useState(false);
  const { forms, wrong } = useForms(open);
  const send = async (d: Data) => {
    await api.load({ name: d.text("name") ?? "", weights: d.text("weights"), ...inputOf(d) });
    onLoad();
  };
  return (
    <Form title="Load a graph" button="Load" send={send} onOpen={() => setOpen(true)}>
      {(problem) =>
        !forms ? <p class={wrong ? "bad" : "quiet"}>{wrong || "Loading…"}</p> : (
          <>
            <div class="fields">
              <Text name="name" label="Name" help="in the catalog: jobs take catalog:NAME" required problem={problem} />
              <GraphField forms={forms} problem={problem} />
              <Choice name="weights" label="Weights" problem={problem} words={orFound(forms.weights, "those that the input has")} />
            </div>
            <InputFields forms={forms} problem={problem} />
          </>
        )
      }
    </Form>
  );
}

/**
 * GraphField is the field for the name of the graph. It suggests generators and, for a job, the
 * graphs of the catalog.
 */
function GraphField({ forms, catalog = false, problem, onInput }: { forms: Forms; catalog?: boolean; problem: Problem; onInput?: (text: string) => void }) {
  const [graphs, setGraphs] = useState<Graph[]>([]);
  useEffect(() => {
    if (catalog) api.graphs().then(setGraphs, () => undefined);
  }, []);
  const list = catalog ? "graphs-of-jobs" : "graphs-to-load";
  return (
    <>
      <Text name="graph" label="Graph" help={`${catalog ? "catalog:NAME, a" : "a"} generator, or the whole path of a file that the workers see`} required list={list}
        placeholder="kronecker:scale=16" problem={problem} onInput={onInput} />
      <datalist id={list}>
        {graphs.map((g) => <option key={g.name} value={`catalog:${g.name}`} />)}
        {forms.generators.map((g) => <option key={g.name} value={g.example} label={g.help} />)}
      </datalist>
    </>
  );
}

function Cut({ problem }: { problem: Problem }) {
  return (
    <>
      <Text name="partitions" label="Partitions" placeholder="one for each worker" numeric problem={problem} />
      <Text name="grid" label="Grid" help="RxC, such as 2x2, in place of their number" problem={problem} />
    </>
  );
}

/**
 * InputFields are the options for reading and storing a graph. They are disabled for a graph of the
 * catalog.
 */
function InputFields({ forms, problem, disabled = false }: { forms: Forms; problem: Problem; disabled?: boolean }) {
  return (
    <details>
      <summary>How the graph is read{disabled && ": it is loaded"}</summary>
      <fieldset class="fields" disabled={disabled} aria-label="How the graph is read">
        <Choice name="format" label="Format" problem={problem} words={orFound(forms.formats)} />
        <Choice name="directed" label="Directed" problem={problem} words={orFound(yesNo, "as the input says")} />
        <Choice name="duplicates" label="Parallel edges" problem={problem} words={usual(forms.duplicates)} />
        <Choice name="self_loops" label="Edges from a vertex to itself" problem={problem} words={usual(forms.self_loops)} />
        <Cut problem={problem} />
        <Text name="source_column" label="Source column" help="of CSV and TSV, by name or number" placeholder="found out" problem={problem} />
        <Text name="target_column" label="Target column" placeholder="found out" problem={problem} />
        <Text name="weight_column" label="Weight column" placeholder="found out" problem={problem} />
        <Text name="delimiter" label="Delimiter" help="one character, or tab" placeholder="found out" problem={problem} />
        <Choice name="header" label="First line names the columns" problem={problem} words={orFound(yesNo)} />
        <Choice name="ids" label="Vertices are" problem={problem} words={orFound(forms.ids)} />
        <Check name="unit_weights" label="every weight is 1" />
      </fieldset>
    </details>
  );
}

const inputOf = (d: Data): Input => ({
  graph: d.text("graph"), format: d.text("format"), directed: d.choice("directed"), duplicates: d.text("duplicates"), self_loops: d.text("self_loops"),
  unit_weights: d.checked("unit_weights"), partitions: d.number("partitions"), grid: d.text("grid"), source_column: d.text("source_column"),
  target_column: d.text("target_column"), weight_column: d.text("weight_column"), delimiter: d.text("delimiter"), header: d.choice("header"), ids: d.text("ids"),
});
