import type uPlot from 'uplot';
import { moved, pinched, selected, type Span, zoomed } from './history-span.ts';

export type Gestures = {
  span(): Span;
  now(): number;
  onSpan(span: Span | null): void;
  /** null: nothing points at the chart any more. */
  onCursor(atMs: number | null): void;
};

/** A wheel's notch is about 100. */
const zoomPerPixel = 1.002;

/**
 * Drawing over a part of the chart zooms into it; the wheel zooms with Ctrl and moves with Shift or sideways; one finger reads values,
 * two zoom and move; a double click or tap shows the whole range.
 */
export function gesturesOf({ span, now, onSpan, onCursor }: Gestures): uPlot.Hooks.Arrays {
  const timeAt = (chart: uPlot, left: number): number => chart.posToVal(left, 'x') * 1000;
  return {
    setCursor: [
      (chart) => {
        const { left = -1 } = chart.cursor;
        onCursor(left < 0 ? null : Math.round(timeAt(chart, left)));
      },
    ],
    setSelect: [
      (chart) => {
        const { left, width } = chart.select;
        if (width === 0) return;
        chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        onSpan(selected(timeAt(chart, left), timeAt(chart, left + width), now()));
      },
    ],
    init: [
      (chart) => {
        const { over } = chart;
        over.addEventListener('dblclick', () => onSpan(null));
        const wheel = (event: WheelEvent): void => {
          const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
          const isZoom = event.ctrlKey || event.metaKey;
          if (!isZoom && Math.abs(sideways) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return;
          // The page would scroll or grow.
          event.preventDefault();
          const at = timeAt(chart, event.clientX - over.getBoundingClientRect().left);
          if (isZoom) onSpan(zoomed(span(), zoomPerPixel ** event.deltaY, at, now()));
          else onSpan(moved(span(), sideways / over.clientWidth, now()));
        };
        over.addEventListener('wheel', wheel, { passive: false });
        followFingers(chart, { now, onSpan });
      },
    ],
  };
}

function followFingers(chart: uPlot, { now, onSpan }: Pick<Gestures, 'now' | 'onSpan'>): void {
  const { over } = chart;
  // Up and down scrolls the page, as anywhere else.
  over.style.touchAction = 'pan-y';
  const fingers = new Map<number, { left: number; atMs: number }>();
  const leftOf = ({ clientX }: PointerEvent): number => clientX - over.getBoundingClientRect().left;
  /** Each finger keeps the time that it has now. */
  const hold = (): void => {
    for (const finger of fingers.values()) finger.atMs = chart.posToVal(finger.left, 'x') * 1000;
  };
  const move = (event: PointerEvent): void => {
    const finger = fingers.get(event.pointerId);
    if (finger === undefined) return;
    finger.left = leftOf(event);
    const [one, other] = fingers.values();
    if (one === undefined || other === undefined) chart.setCursor({ left: finger.left, top: 0 });
    else {
      const width = over.clientWidth;
      onSpan(pinched([one.atMs, other.atMs], [one.left / width, other.left / width], now()));
    }
  };
  const leave = ({ pointerId }: PointerEvent): void => {
    if (fingers.delete(pointerId)) hold();
  };
  over.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'touch' || fingers.size === 2) return;
    fingers.set(event.pointerId, { left: leftOf(event), atMs: 0 });
    hold();
  });
  over.addEventListener('pointermove', move);
  over.addEventListener('pointerup', leave);
  over.addEventListener('pointercancel', leave);
}
