import { clearLine, progressBar } from '@station/kit/progress-bar';

/** Prints one line for each long step, with a progress bar on a terminal. */
export type Printer = {
  line(text?: string): void;
  /**
   * Shows the step `what` while `work` runs. On a terminal the line is redrawn with its progress. Otherwise it is printed
   * once, and again at the end.
   */
  during<T>(what: string, work: (progress: (step: ProgressStep) => void) => Promise<T>): Promise<T>;
};

type ProgressStep = { text: string; /** 0 to 100; null when unknown. */ percent: number | null };

/** Shorter steps are not shown. */
const silentMs = 1000;

export function createPrinter(out: { isTTY?: boolean; write(text: string): unknown }): Printer {
  const isTerminal = out.isTTY === true;
  const line = (text = ''): void => void out.write(`${text}\n`);
  return {
    line,
    during: async (what, work) => {
      const startedMs = performance.now();
      let printed = '';
      const print = (step: ProgressStep | null): void => {
        if (performance.now() - startedMs < silentMs) return;
        const text = step && step.text !== '' ? `${what}: ${step.text}` : `${what} …`;
        if (isTerminal) out.write(`${clearLine}  ${text}${bar(step)}`);
        else if (text !== printed) line(`  ${text}`);
        printed = text;
      };
      let latest: ProgressStep | null = null;
      const timer = setInterval(() => print(latest), 200);
      const end = (word: string): void => {
        clearInterval(timer);
        const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
        if (printed !== '') out.write(`${isTerminal ? clearLine : ''}  ${what}: ${word} (${seconds} s)\n`);
      };
      try {
        const result = await work((step) => (latest = step));
        end('done');
        return result;
      } catch (error) {
        end('failed');
        throw error;
      }
    },
  };
}

const bar = (step: ProgressStep | null): string => (step?.percent == null ? '' : `  ${progressBar(step.percent)}`);
