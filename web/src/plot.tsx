// A uPlot chart that follows changes of its size, its colours and its data.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { type Drawer, drawer, never, soon } from "./schedule";
import { colors, onTheme } from "./theme";

/** The margins of every plot. They are equal so that the axes of stacked plots line up. */
export const left = 64;
export const right = 14;

export interface PlotProps {
  label: string;
  height: number;
  /** returns the series and scales; called again after a change of optionsKey or of the colours */
  options: () => Pick<uPlot.Options, "series" | "scales" | "axes" | "bands">;
  optionsKey: string;
  data: uPlot.AlignedData;
  /** the ends of the x axis */
  from: number;
  to: number;
  selected: number | undefined;
  width: number; // of a column, in units of the x axis
  /** colours the background of each column by its delivery */
  tint?: { x: number[]; delivery: string[] };
  onHover?: (index: number | undefined) => void;
  onPick?: (index: number) => void;
  onZoom?: (from: number, to: number) => void;
}

/** The distances of ticks on the axis of supersteps are integers. */
const steps = [1, 2, 5].flatMap((n) => [n, n * 10, n * 100, n * 1000, n * 1e4, n * 1e5, n * 1e6]).sort((a, b) => a - b);

export const axis = (values?: (v: number) => string): uPlot.Axis => {
  const c = colors();
  return {
    stroke: c.faint,
    grid: { stroke: c.grid, width: 1 },
    ticks: { stroke: c.grid, width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
    ...(values
      ? { size: left, values: (_u: uPlot, at: number[]) => at.map((v) => (v === null ? "" : values(v))) }
      : { size: 26, incrs: steps, values: (_u: uPlot, at: number[]) => at.map((v) => (v === null || v < 0 ? "" : String(v))) }),
  };
};

/**
 * ground paints the background of the columns: one rectangle for consecutive columns of the same
 * delivery.
 */
function ground(u: uPlot, tint: { x: number[]; delivery: string[] }, width: number) {
  const c = colors();
  u.ctx.save();
  u.ctx.globalAlpha = 0.12;
  for (let i = 0, end = 0; i < tint.x.length; i = end) {
    const kind = tint.delivery[i];
    for (end = i + 1; end < tint.x.length && tint.delivery[end] === kind; ) end++;
    if (kind !== "push" && kind !== "pull") continue;
    u.ctx.fillStyle = c[kind];
    const from = u.valToPos(tint.x[i]! - width / 2, "x", true);
    u.ctx.fillRect(from, u.bbox.top, u.valToPos(tint.x[end - 1]! + width / 2, "x", true) - from, u.bbox.height);
  }
  u.ctx.restore();
}

export function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const mark = useRef<HTMLDivElement>(undefined);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const build = () => {
      if (!host.current) return; // the view was left before this frame
      const p = latest.current;
      plot.current?.destroy();
      const opts = p.options();
      const u = new uPlot(
        {
          width: Math.max(host.current.clientWidth, 160),
          height: p.height,
          padding: [8, right, 0, 0],
          legend: { show: false },
          cursor: {
            sync: { key: "timeline" },
            y: false,
            points: { show: false },
            drag: { x: true, y: false, setScale: false },
            dataIdx: (_u, _series, near) => near,
          },
          select: { show: true, left: 0, top: 0, width: 0, height: 0 },
          hooks: {
            setCursor: [(u) => latest.current.onHover?.(u.cursor.left === undefined || u.cursor.left < 0 ? undefined : (u.cursor.idx ?? undefined))],
            setSelect: [
              (u) => {
                if (u.select.width > 8) latest.current.onZoom?.(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
                u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              },
            ],
            drawClear: [(u) => latest.current.tint && ground(u, latest.current.tint, latest.current.width)],
            setScale: [place],
            setSize: [place],
          },
          ...opts,
          scales: { ...opts.scales, x: { time: false, range: () => [latest.current.from - 0.5, latest.current.to + 0.5] } },
        },
        p.data,
        host.current,
      );
      u.over.addEventListener("click", () => {
        if (u.cursor.idx !== null && u.cursor.idx !== undefined) latest.current.onPick?.(u.cursor.idx);
      });
      mark.current = document.createElement("div");
      mark.current.className = "mark";
      u.over.appendChild(mark.current);
      plot.current = u;
      place(u);
    };
    const place = (u: uPlot) => {
      const m = mark.current;
      if (!m) return;
      const { selected, width } = latest.current;
      m.hidden = selected === undefined;
      if (selected === undefined) return;
      const lo = u.valToPos(selected - width / 2, "x");
      const hi = u.valToPos(selected + width / 2, "x");
      m.style.left = `${lo}px`;
      m.style.width = `${Math.max(hi - lo, 2)}px`;
    };
    placer.current = () => plot.current && place(plot.current);
    build();
    drawn.current = drawer(host.current!, () => plot.current?.setData(latest.current.data));
    const stop = onTheme(() => soon(host, build));
    const size = new ResizeObserver(() => soon(size, () => plot.current?.setSize({ width: Math.max(host.current?.clientWidth ?? 0, 160), height: props.height })));
    size.observe(host.current!);
    return () => {
      stop();
      size.disconnect();
      never(host);
      never(size);
      drawn.current?.stop();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [props.optionsKey, props.height]);

  const placer = useRef<() => void>(undefined);
  const drawn = useRef<Drawer>(undefined);
  useEffect(() => drawn.current?.ask(), [props.data, props.from, props.to]);
  useEffect(() => placer.current?.(), [props.selected, props.width]);

  return <div class="plot" ref={host} role="img" aria-label={props.label} />;
}
