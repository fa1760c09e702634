// Drawing is spread over frames: a frame that would take longer than a screen's 16 ms leaves the rest to the next.

const budget = 6; // milliseconds of drawing in a frame
const waiting = new Map<object, () => void>();
let asked = false;

function frame() {
  asked = false;
  const end = performance.now() + budget;
  for (const [key, draw] of waiting) {
    waiting.delete(key);
    draw();
    if (performance.now() >= end) break;
  }
  if (waiting.size > 0) ask();
}

function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

/** soon draws something in one of the next frames, once, however often it is asked for until then. */
export function soon(key: object, draw: () => void): void {
  waiting.set(key, draw);
  ask();
}

/** never forgets what was to be drawn. */
export function never(key: object): void {
  waiting.delete(key);
}

// What is not in the window, or near it, is drawn when it comes there.
const near = new WeakMap<Element, (is: boolean) => void>();
const observer = new IntersectionObserver((all) => all.forEach((e) => near.get(e.target)?.(e.isIntersecting)), { rootMargin: "150px" });

export interface Drawer {
  /** draws in one of the next frames in which the element can be seen */
  ask: () => void;
  stop: () => void;
}

/** drawer draws an element when asked to, however often, once in a frame, and not where nobody sees it. */
export function drawer(e: Element, draw: () => void): Drawer {
  let seen = false;
  let due = false;
  const key = {};
  const ask = () => {
    due = !seen;
    if (seen) soon(key, draw);
  };
  near.set(e, (is) => {
    seen = is;
    if (seen && due) ask();
  });
  observer.observe(e);
  return {
    ask,
    stop: () => {
      observer.unobserve(e);
      near.delete(e);
      never(key);
    },
  };
}
