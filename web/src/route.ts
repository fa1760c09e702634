// The current view: the fragment of the URL, such as #/job/3.

import { useEffect, useState } from "preact/hooks";

export const link = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export const go = (to: string): void => location.replace(to);

const read = (): string[] =>
  location.hash
    .replace(/^#\/?/, "")
    .split("/")
    .map((p) => {
      try {
        return decodeURIComponent(p);
      } catch {
        return p;
      }
    });

export function useRoute(): string[] {
  const [route, set] = useState(read);
  useEffect(() => {
    const changed = () => set(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
