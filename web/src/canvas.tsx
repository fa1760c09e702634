// A canvas that redraws after a change of its size, its colours or its data.

import { useEffect, useRef } from "preact/hooks";
import { type Drawer, drawer } from "./schedule";
import { colors, onTheme } from "./theme";

/** Mark is a rectangle on a canvas in CSS lengths. */
export type Mark = Record<"left" | "top" | "width" | "height", string>;

interface Props {
  label: string;
  height: number;
  /** draws on a canvas; width and height are in CSS pixels */
  draw: (g: CanvasRenderingContext2D, width: number, height: number) => void;
  /** the canvas redraws if one of these changes */
  on: unknown[];
  /**
   * a frame around the item under the pointer. It is an element of its own: on the canvas it would
   * cost a redraw at every move of the pointer.
   */
  mark?: Mark | undefined;
  /** called with the place under the pointer; x and y are from 0 to 1 */
  onPoint?: (x: number, y: number) => void;
  onLeave?: () => void;
  onPress?: (x: number, y: number) => void;
  onKey?: (e: KeyboardEvent) => void;
}

export function Canvas(props: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const draw = () => {
    const c = canvas.current;
    if (!c) return;
    const scale = devicePixelRatio || 1;
    const { height } = latest.current;
    const width = c.clientWidth;
    c.width = Math.round(width * scale);
    c.height = Math.round(height * scale);
    const g = c.getContext("2d")!;
    g.scale(scale, scale);
    latest.current.draw(g, width, height);
  };
  const drawn = useRef<Drawer>(undefined);
  useEffect(() => {
    const d = drawer(canvas.current!, draw);
    drawn.current = d;
    const stop = onTheme(d.ask);
    const size = new ResizeObserver(d.ask);
    size.observe(canvas.current!);
    return () => {
      stop();
      size.disconnect();
      d.stop();
    };
  }, []);
  useEffect(() => drawn.current?.ask(), [props.height, ...props.on]);
  const place = (e: MouseEvent): [number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height];
  };
  return (
    <div class="pointed">
      <canvas
        ref={canvas}
        class="canvas"
        style={{ height: `${props.height}px` }}
        role="img"
        aria-label={props.label}
        tabIndex={props.onKey ? 0 : undefined}
        onMouseMove={(e) => props.onPoint?.(...place(e))}
        onMouseLeave={() => props.onLeave?.()}
        onClick={(e) => props.onPress?.(...place(e))}
        onKeyDown={(e) => props.onKey?.(e)}
      />
      {props.mark && <i style={props.mark} />}
    </div>
  );
}

type RGB = [number, number, number];

/** shades returns 256 colours between two colours, as pixels of an image. */
function shades(from: RGB, to: RGB): Uint32Array {
  const mix = (i: 0 | 1 | 2, share: number) => Math.round(from[i] + (to[i] - from[i]) * share);
  const bytes = new Uint8Array(4 * 256);
  for (let k = 0; k < 256; k++) bytes.set([mix(0, k / 255), mix(1, k / 255), mix(2, k / 255), 255], 4 * k);
  return new Uint32Array(bytes.buffer);
}

/**
 * cells paints a grid in shades from cold to hot. shade returns 0 to 255; a negative number leaves
 * a cell empty.
 */
export function cells(
  g: CanvasRenderingContext2D,
  box: { x: number; y: number; width: number; height: number },
  columns: number,
  rows: number,
  shade: (column: number, row: number) => number,
): void {
  if (columns < 1 || rows < 1) return;
  const { cold, hot } = colors();
  const colour = shades(cold, hot);
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let r = 0, at = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++, at++) {
      const k = shade(c, r);
      if (k >= 0) pixels[at] = colour[k & 255]!;
    }
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d")!.putImageData(image, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(small, box.x, box.y, box.width, box.height);
}
