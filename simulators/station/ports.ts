/** How many ports are looked at before giving up. */
const portsToTry = 50;

/**
 * Starts a server on a port a person asked for, or else on `usual` or the first free one after it.
 * @throws the error of listening: with a port asked for, also that it is taken.
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
