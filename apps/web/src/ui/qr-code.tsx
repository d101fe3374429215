import { correction, generate } from 'lean-qr/nano';
import { useMemo } from 'react';

/** Light around the code, in its own squares (ISO/IEC 18004, section 6.3.8). */
const quietZone = 4;

/** A text as a QR code. Dark on light in dark mode too: many cameras read nothing else. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { path, size } = useMemo(() => draw(text), [text]);
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="block aspect-square w-full rounded-2xl border border-line"
    >
      <rect width={size} height={size} fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}

function draw(text: string): { path: string; size: number } {
  const code = generate(text, { minCorrectionLevel: correction.M });
  const runs: string[] = [];
  for (let y = 0; y < code.size; y += 1) {
    for (let x = 0; x < code.size; x += 1) {
      if (!code.get(x, y)) continue;
      const from = x;
      while (x < code.size && code.get(x, y)) x += 1;
      runs.push(`M${from + quietZone} ${y + quietZone}h${x - from}v1h${from - x}z`);
    }
  }
  return { path: runs.join(''), size: code.size + 2 * quietZone };
}
