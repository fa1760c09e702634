// Drawing is spread over frames, one canvas in each: what was drawn becomes pixels when the frame ends, which without a GPU takes
// longer than to say what is to be drawn. All of them at once took more than a screen's 16 ms.

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
const near = new Map<Element, (is: boolean) => void>();
/** A printed page shows all of it: what is due is drawn before, wherever it is. */
addEventListener("beforeprint", () => {
  for (const see of near.values()) see(true);
  for (const draw of waiting.values()) draw();
  waiting.clear();
});
// Then what is far from the window is no longer seen: an element that is observed anew is told of at once.
addEventListener("afterprint", () => {
  for (const e of near.keys()) {
    observer.unobserve(e);
    observer.observe(e);
  }
});
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

const calmly = 80; // milliseconds: nobody reads a text that changes with every frame

/**
 * calm passes values on that come with every frame, the first at once, then the newest now and then, the last always: to lay out
 * and paint words takes more than half of a frame in which the pointer moves. now passes one on at once.
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
