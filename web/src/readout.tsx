// A text that describes the item under the pointer.

import { useEffect, useMemo, useState } from "preact/hooks";
import { calm } from "./schedule";

export function Readout({ text }: { text: string }) {
  const [shown, set] = useState(text);
  const pass = useMemo(() => calm(set), []);
  useEffect(() => pass(text), [text]);
  return (
    <p class="readout" aria-live="polite">
      {shown}
    </p>
  );
}
