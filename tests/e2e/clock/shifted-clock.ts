/**
 * Loaded with `node --import` before a program: its wall clock is shifted by the milliseconds in the file that SHIFT_FILE names, and jumps when the
 * file changes. Its monotonic clock stays.
 */
import { readFileSync } from 'node:fs';

const file = process.env['SHIFT_FILE'] ?? '';
const realNow = Date.now;
let shiftMs = 0;
const read = (): void => {
  const text = readFileSync(file, 'utf8').trim();
  if (text !== '') shiftMs = Number(text);
};
read();
setInterval(read, 50).unref();

const RealDate = Date;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: [], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [realNow() + shiftMs] : args, newTarget) as Date,
});
RealDate.now = () => realNow() + shiftMs;
