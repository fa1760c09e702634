// A canvas that is drawn anew when its size, the colours or what it shows change.

import { useEffect, useRef } from "preact/hooks";
import { never, soon } from "./schedule";
import { onTheme } from "./theme";

interface Props {
  label: string;
  height: number;
  /** draws on a canvas of so many CSS pixels */
  draw: (g: CanvasRenderingContext2D, width: number, height: number) => void;
  /** draws anew when one of these changes */
  on: unknown[];
  /** the place under the pointer, from 0 to 1 each way */
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
  useEffect(() => {
    const again = () => soon(latest, draw);
    const stop = onTheme(again);
    const size = new ResizeObserver(again);
    size.observe(canvas.current!);
    return () => {
      stop();
      size.disconnect();
      never(latest);
    };
  }, []);
  useEffect(() => soon(latest, draw), [props.height, ...props.on]);
  const place = (e: MouseEvent): [number, number] => {
    const box = canvas.current!.getBoundingClientRect();
    return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height];
  };
  return (
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
  );
}

/** ramp mixes two colours. */
export function ramp(cold: [number, number, number], hot: [number, number, number], share: number): [number, number, number] {
  const mix = (i: 0 | 1 | 2) => Math.round(cold[i] + (hot[i] - cold[i]) * share);
  return [mix(0), mix(1), mix(2)];
}

/** cells paints a grid of colours, one a cell; undefined leaves a cell empty. */
export function cells(
  g: CanvasRenderingContext2D,
  box: { x: number; y: number; width: number; height: number },
  columns: number,
  rows: number,
  color: (column: number, row: number) => [number, number, number] | undefined,
): void {
  if (columns < 1 || rows < 1) return;
  const image = new ImageData(columns, rows);
  for (let r = 0, at = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++, at += 4) {
      const rgb = color(c, r);
      if (!rgb) continue;
      image.data[at] = rgb[0];
      image.data[at + 1] = rgb[1];
      image.data[at + 2] = rgb[2];
      image.data[at + 3] = 255;
    }
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d")!.putImageData(image, 0, 0);
  g.imageSmoothingEnabled = false;
  g.drawImage(small, box.x, box.y, box.width, box.height);
}
