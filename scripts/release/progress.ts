import { clearLine, progressBar } from '@station/kit/progress-bar';

export type Progress = {
  /** Begins a step; `share` is the part of the work before it, 0 to 1. */
  step(name: string, share: number): void;
  end(): void;
};

/** A line that is redrawn on a terminal; otherwise one JSON object a step. */
export function createProgress(out: { isTTY?: boolean; write(text: string): unknown }): Progress {
  const started = performance.now();
  const seconds = (): number => Math.round((performance.now() - started) / 100) / 10;
  const write = (event: string, name: string, share: number): void => {
    const percent = Math.round(100 * share);
    if (out.isTTY !== true) {
      out.write(
        `${JSON.stringify({ time: new Date().toISOString(), event, step: name, percent, seconds: seconds() })}\n`,
      );
      return;
    }
    out.write(`${clearLine}${progressBar(percent)} ${name} (${seconds()} s)${share === 1 ? '\n' : ''}`);
  };
  return {
    step: (name, share) => write('release_step', name, share),
    end: () => write('release_completed', 'done', 1),
  };
}
