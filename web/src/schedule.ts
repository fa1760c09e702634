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
