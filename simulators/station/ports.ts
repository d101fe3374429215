import { findFreePort, isFree } from '@station/kit/free-port';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';

/** Number of ports to try. */
const portsToTry = 50;

/**
 * Starts a server on the requested port, otherwise on `usual` or the next free port.
 * @throws the error of listening; with a requested port, also when it is in use.
 */
export async function listenOnUsual<T>(
  asked: number | null,
  usual: number,
  listen: (port: number) => Promise<T>,
): Promise<T> {
  if (asked !== null) return listen(asked);
  for (let port = usual; ; port++) {
    try {
      return await listen(port);
    } catch (error) {
      if (!isTaken(error) || port >= usual + portsToTry) throw error;
    }
  }
}

export const isTaken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['EADDRINUSE', 'EACCES'].includes(String(error.code));

/** The port of the last start, from a file, so that devices find the broker again; another free one when a program took it meanwhile. */
export async function findKeptPort(file: string): Promise<number> {
  const kept = Number(await readText(nodeDisk, file));
  if (Number.isInteger(kept) && kept > 0 && kept <= 65_535 && (await isFree(kept))) return kept;
  const port = await findFreePort();
  await writeDurable(nodeDisk, file, `${port}\n`);
  return port;
}
