import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describeError } from '@station/kit/station-error';
import { maxLineBytes } from '@station/protocol/ble-frames';

/** A running helper program. */
export type HelperProcess = {
  /** @returns false when the helper does not read its input: nothing was queued, and it should be killed. */
  send(line: string): boolean;
  /** Closes its input and sends SIGTERM; SIGKILL follows after 2 s. */
  end(): void;
  kill(): void;
  /** How it ended, e.g. `exit code 1`. Never rejects. A last line may still follow. */
  readonly ended: Promise<string>;
};

export type HelperListener = {
  /** A line of standard output, without its line break. */
  onLine(line: string): void;
  /** A line of standard error. */
  onNote(line: string): void;
  /** A line that was too long, and is ignored. */
  onTooLong(): void;
};

const maxNoteBytes = 4 * 1024;
/** Commands are below 2 KiB, and few wait at a time. */
const maxWaitingBytes = 64 * 1024;
const killAfterMs = 2_000;
/** A child of the helper may keep its output open. */
const closeAfterMs = 500;

/** Keeps an idle helper small; it has the backend's own Node. */
const nodeFlags = ['--max-semi-space-size=1', '--max-old-space-size=48', '--optimize-for-size'];

/**
 * Starts the helper with the backend's own Node.
 * @param options.environment its whole environment; nothing is inherited.
 */
export function startHelperProcess(
  options: { program: string; environment: Readonly<Record<string, string>> } & HelperListener,
): HelperProcess {
  const { program, environment } = options;
  const child = spawn(process.execPath, [...nodeFlags, program], {
    env: { ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A child that ends may not have read its input; `ended` then says how it ended.
  child.stdin.on('error', () => undefined);
  const { onLine, onNote, onTooLong } = options;
  // Reading fails when the process ends in the middle; `ended` says so.
  readPaced(child.stdout, createLineReader(maxLineBytes, onLine, onTooLong)).catch(() => undefined);
  readPaced(child.stderr, createLineReader(maxNoteBytes, onNote, onTooLong)).catch(() => undefined);
  return {
    send: (line) => {
      if (child.stdin.writableLength > maxWaitingBytes) return false;
      child.stdin.write(`${line}\n`);
      return true;
    },
    end: () => {
      child.stdin.end();
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
      child.once('close', () => clearTimeout(timer));
    },
    kill: () => void child.kill('SIGKILL'),
    ended: endOf(child),
  };
}

function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    // Without a process there is no `close`.
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(`not started: ${describeError(error)}`);
    });
    child.on('exit', () => {
      const timer = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, closeAfterMs);
      child.on('close', () => clearTimeout(timer));
    });
    child.on('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}

/** What is read in one slice of time: a flood must not take the backend's time. The pipe then fills up. */
const maxLinesPerSlice = 1_000;
/** More than as many lines of advertisements have. */
const maxBytesPerSlice = 256 * 1024;
const sliceMs = 50;
/** Bytes between two looks at what was read. */
const stepBytes = 4 * 1024;

async function readPaced(stream: AsyncIterable<Buffer>, reader: LineReader): Promise<void> {
  let lines = 0;
  let bytes = 0;
  let sinceMs = performance.now();
  for await (const chunk of stream) {
    for (let at = 0; at < chunk.length; at += stepBytes) {
      const step = chunk.subarray(at, at + stepBytes);
      lines += reader.push(step);
      bytes += step.length;
      if (lines < maxLinesPerSlice && bytes < maxBytesPerSlice) continue;
      const leftMs = sinceMs + sliceMs - performance.now();
      if (leftMs > 0) await sleep(leftMs);
      lines = 0;
      bytes = 0;
      sinceMs = performance.now();
    }
  }
}

type LineReader = {
  /** @returns the number of lines that it completed. */
  push(chunk: Uint8Array): number;
};

/**
 * Splits bytes into lines of UTF-8 text. Never keeps more than `maxBytes`.
 * @param onTooLong called once for each longer line, whose text is dropped.
 */
function createLineReader(maxBytes: number, onLine: (line: string) => void, onTooLong: () => void): LineReader {
  let rest: Uint8Array[] = [];
  let size = 0;
  let isTooLong = false;

  const keep = (piece: Uint8Array): void => {
    if (isTooLong) return;
    size += piece.length;
    if (size <= maxBytes) {
      if (piece.length > 0) rest.push(piece);
      return;
    }
    isTooLong = true;
    rest = [];
    onTooLong();
  };
  const complete = (): void => {
    const pieces = rest;
    const wasTooLong = isTooLong;
    const isEmpty = size === 0;
    rest = [];
    size = 0;
    isTooLong = false;
    if (wasTooLong || isEmpty) return;
    onLine((pieces.length === 1 ? Buffer.from(pieces[0]!) : Buffer.concat(pieces)).toString('utf8'));
  };
  return {
    push: (chunk) => {
      let from = 0;
      let lines = 0;
      for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
        keep(chunk.subarray(from, at));
        complete();
        from = at + 1;
        lines += 1;
      }
      keep(chunk.subarray(from));
      return lines;
    },
  };
}

/**
 * The program of the helper: beside the built backend, or in this repository.
 * @param configured a path, `off`, or null for the default.
 * @returns null when there is none.
 */
export function findHelper(configured: string | null): string | null {
  if (configured === 'off') return null;
  if (configured !== null) return configured;
  const places = ['station-ble-helper.mjs', '../../../../ble-helper/src/main.ts'];
  return places.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((path) => existsSync(path)) ?? null;
}
