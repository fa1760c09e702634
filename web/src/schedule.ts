// Drawing is spread over frames, one canvas in each. Without a GPU, the rasterization at the end of
// a frame takes longer than the drawing commands. All canvases in one frame took more than 16 ms.

const waiting = new Map<object, () => void>();
let asked = false;

function frame() {
  asked = false;
  for (const [key, draw] of waiting) {
    waiting.delete(key);
    draw();
    break;
  }
  if (waiting.size > 0) ask();
}

function ask() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(frame);
}

/** soon calls draw in one of the next frames. Several calls with the same key draw once. */
export function soon(key: object, draw: () => void): void {
  waiting.set(key, draw);
  ask();
}

/** never cancels a call of soon. */
export function never(key: object): void {
  waiting.delete(key);
}

// An element outside the window is drawn when it comes near the window.
const near = new Map<Element, (is: boolean) => void>();
/** A printed page shows all elements, so all pending elements are drawn before printing. */
addEventListener("beforeprint", () => {
  for (const see of near.values()) see(true);
  for (const draw of waiting.values()) draw();
  waiting.clear();
});
// After printing, elements far from the window count as invisible again. The observer reports an
// element at once when it is observed again.
addEventListener("afterprint", () => {
  for (const e of near.keys()) {
    observer.unobserve(e);
    observer.observe(e);
  }
});
const observer = new IntersectionObserver((all) => all.forEach((e) => near.get(e.target)?.(e.isIntersecting)), { rootMargin: "150px" });

export interface Drawer {
  /** draws in one of the next frames in which the element is visible */
  ask: () => void;
  stop: () => void;
}

/** drawer draws an element on request, at most once in a frame, and only while it is visible. */
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

const calmly = 80; // milliseconds; nobody can read a text that changes in every frame

/**
 * calm limits how often values are passed on: the first at once, then the newest at intervals, and
 * always the last. Layout and painting of text takes more than half of a frame in which the pointer
 * moves. If now is true, the value is passed on at once.
 */
export function calm<T>(pass: (value: T) => void): (value: T, now?: boolean) => void {
  let newest: { value: T } | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const turn = () => {
    timer = undefined;
    if (!newest) return;
    const { value } = newest;
    newest = undefined;
    timer = setTimeout(turn, calmly);
    pass(value);
  };
  return (value, now = false) => {
    newest = { value };
    if (now) {
      clearTimeout(timer);
      timer = undefined;
    }
    if (timer === undefined) turn();
  };
}
