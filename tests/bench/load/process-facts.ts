import { readFile } from 'node:fs/promises';

/** Clock ticks per second in /proc, on every Linux that runs Node. */
const ticks = 100;

/** Processor time that a process has used so far, in seconds (proc(5), stat, fields 14 and 15). */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

/** MiB, from /proc/PID/smaps_rollup. `privateDirty` counts only pages that the process has written. */
export type Memory = { pss: number; private: number; privateDirty: number };

/** @throws when the kernel has no such value. */
export async function memoryOf(pid: number): Promise<Memory> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const read = (name: string): number => Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(rollup)?.[1]) / 1024;
  const dirty = read('Private_Dirty');
  const memory = { pss: read('Pss'), private: read('Private_Clean') + dirty, privateDirty: dirty };
  if (!(memory.pss > 0)) throw new Error('The kernel does not report the memory of a process');
  return memory;
}
