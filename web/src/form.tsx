// Forms: fields with labels and help texts. A form shows an error of the master next to the wrong
// field.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";

/** Problem is an error in a form. field is empty if the error concerns the whole form. */
export interface Problem {
  field: string;
  text: string;
}

const none: Problem = { field: "", text: "" };

/** Data has the entries of a form. */
export class Data {
  private form: FormData;

  constructor(form: HTMLFormElement) {
    this.form = new FormData(form);
  }

  /** text returns undefined if a field is empty or disabled. */
  text(name: string): string | undefined {
    return String(this.form.get(name) ?? "").trim() || undefined;
  }

  /** number reads an integer. */
  number(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const x = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(x)) throw new ApiError(400, `found ${text}, expected a whole number below 2^53`, name);
    return x;
  }

  /** choice returns undefined if the user made no choice. */
  choice(name: string): boolean | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : text === "true";
  }

  checked(name: string): boolean {
    return this.form.has(name);
  }

  /** below returns the texts of the fields whose names begin with a prefix. */
  below(before: string): Record<string, string> {
    const all: [string, string][] = [];
    for (const [name, value] of this.form) {
      const text = String(value).trim();
      if (name.startsWith(before) && text) all.push([name.slice(before.length), text]);
    }
    return Object.fromEntries(all);
  }
}

interface FormProps {
  title: string;
  button: string;
  send: (data: Data) => Promise<void>;
  onOpen?: () => void;
  children: (problem: Problem) => ComponentChildren;
}

/** Form is closed at first. It shows an error at the wrong field and moves the focus there. */
export function Form({ title, button, send, onOpen, children }: FormProps) {
  const [problem, setProblem] = useState(none);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const fieldOf = (name: string) => (name ? form.current?.elements.namedItem(name) : null);
  useEffect(() => {
    const field = fieldOf(problem.field);
    if (!(field instanceof HTMLElement)) return;
    for (let e = field.closest("details"); e; e = e.parentElement!.closest("details")) e.open = true;
    field.focus();
  }, [problem]);
  const submit = async (e: SubmitEvent) => {
    e.preventDefault();
    setBusy(true);
    try {
      await send(new Data(form.current!));
      setProblem(none);
    } catch (err) {
      const field = err instanceof ApiError ? err.field : "";
      setProblem({ field: fieldOf(field) ? field : "", text: (err as Error).message });
    } finally {
      setBusy(false);
    }
  };
  return (
    <details class="panel submit" onToggle={(e) => e.currentTarget.open && onOpen?.()}>
      <summary>{title}</summary>
      <form ref={form} onSubmit={(e) => void submit(e)} aria-label={title}>
        {children(problem)}
        <p class="row">
          <button type="submit" disabled={busy}>{button}</button>
          {problem.text && !problem.field && <b class="bad" role="alert">{problem.text}</b>}
        </p>
      </form>
    </details>
  );
}

interface FieldProps {
  name: string;
  label: string;
  help?: string;
  problem: Problem;
}

/** Common has the attributes of all controls. */
interface Common {
  id: string;
  name: string;
  "aria-describedby": string | undefined;
  "aria-invalid": "true" | undefined;
}

/** Field is a control with its label, its help text and its error. */
function Field({ name, label, help, problem, control }: FieldProps & { control: (common: Common) => ComponentChildren }) {
  const id = useId();
  const wrong = problem.field === name ? problem.text : "";
  const described = [help && `${id}-help`, wrong && `${id}-wrong`].filter((x) => x).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {control({ id, name, "aria-describedby": described || undefined, "aria-invalid": wrong ? "true" : undefined })}
      {help && <small id={`${id}-help`}>{help}</small>}
      {wrong && <b class="bad" id={`${id}-wrong`} role="alert">{wrong}</b>}
    </div>
  );
}

interface TextProps extends FieldProps {
  required?: boolean;
  placeholder?: string;
  list?: string;
  numeric?: boolean;
  onInput?: (text: string) => void;
}

export function Text({ required, placeholder, list, numeric, onInput, ...field }: TextProps) {
  return (
    <Field
      {...field}
      label={required ? `${field.label} (required)` : field.label}
      control={(common) => (
        <input {...common} required={required} placeholder={placeholder} list={list} autocomplete="off" spellcheck={false}
          inputMode={numeric ? "numeric" : undefined} onInput={onInput && ((e) => onInput(e.currentTarget.value))} />
      )}
    />
  );
}

interface ChoiceProps extends FieldProps {
  /** the choices: the value to send, or a pair of the value and its label */
  words: readonly (string | readonly [string, string])[];
  value?: string;
  onChange?: (value: string) => void;
}

export function Choice({ words, value, onChange, ...field }: ChoiceProps) {
  return (
    <Field
      {...field}
      control={(common) => (
        <select {...common} value={value} onChange={onChange && ((e) => onChange(e.currentTarget.value))}>
          {words.map((w) => {
            const [sent, called] = typeof w === "string" ? [w, w] : w;
            return <option key={sent} value={sent}>{called}</option>;
          })}
        </select>
      )}
    />
  );
}

export function Check({ name, label, checked }: { name: string; label: string; checked?: boolean }) {
  return (
    <label class="check">
      <input name={name} type="checkbox" defaultChecked={checked} /> {label}
    </label>
  );
}

/** Sure is a button that asks for confirmation. */
export function Sure({ button, question, yes, no, act }: { button: string; question: string; yes: string; no: string; act: () => Promise<void> }) {
  const [asked, setAsked] = useState(false);
  const [wrong, setWrong] = useState("");
  const go = () => {
    setAsked(false);
    setWrong("");
    act().catch((e: Error) => setWrong(e.message));
  };
  return (
    <span class="cancel">
      {!asked && <button type="button" onClick={() => setAsked(true)}>{button}</button>}
      {asked && <>{question} <button type="button" class="danger" onClick={go}>{yes}</button> <button type="button" onClick={() => setAsked(false)}>{no}</button></>}
      {wrong && <b class="bad" role="alert">{wrong}</b>}
    </span>
  );
}
