import { useEffect, useRef, useState, type CSSProperties } from 'react';

const settleMs = 250;

/** A slider that speaks once it rests: while it is moved only its own picture follows. */
export function ValueSlider({
  label,
  words,
  value,
  min,
  max,
  disabled,
  onSettle,
}: {
  label: string;
  /** The value as it is read out. */
  words: (value: number) => string;
  value: number;
  min: number;
  max: number;
  disabled: boolean;
  onSettle: (value: number) => void;
}) {
  const [moved, setMoved] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const shown = moved ?? value;
  const move = (next: number): void => {
    setMoved(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setMoved(null);
      onSettle(next);
    }, settleMs);
  };
  return (
    <input
      type="range"
      aria-label={label}
      aria-valuetext={words(shown)}
      min={min}
      max={max}
      step={(max - min) / 100 >= 1 ? Math.round((max - min) / 100) : 1}
      value={shown}
      disabled={disabled}
      onChange={(event) => move(event.target.valueAsNumber)}
      className="slider"
      style={{ '--fill': `${(100 * (shown - min)) / (max - min)}%` } as CSSProperties}
    />
  );
}
