/** Reads a stream of chunks in pieces of the caller's sizes; its disposal ends the stream. */
export type ByteReader = AsyncDisposable & {
  /** The next `count` bytes; fewer at the end of the stream. */
  read(count: number): Promise<Buffer>;
  /** The next `count` bytes in pieces; ends early at the end of the stream. */
  pieces(count: number): AsyncGenerator<Buffer>;
  /** Bytes up to and with the next `end`; null when it is not among the next `max` bytes. */
  readTo(end: number, max: number): Promise<Buffer | null>;
};

export function createByteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
  let rest: Buffer = Buffer.alloc(0);

  /** @returns false at the end of the stream. */
  const more = async (): Promise<boolean> => {
    const next = await chunks.next();
    if (next.done) return false;
    const { buffer, byteOffset, byteLength } = next.value;
    const chunk = Buffer.from(buffer, byteOffset, byteLength);
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    return true;
  };
  const take = (count: number): Buffer => {
    const taken = rest.subarray(0, count);
    rest = rest.subarray(taken.length);
    return taken;
  };

  return {
    [Symbol.asyncDispose]: async () => void (await chunks.return?.()),
    read: async (count) => {
      if (rest.length >= count) return take(count);
      const parts: Buffer[] = [take(count)];
      let missing = count - (parts[0]?.length ?? 0);
      while (missing > 0 && (await more())) {
        const part = take(missing);
        parts.push(part);
        missing -= part.length;
      }
      return Buffer.concat(parts);
    },
    pieces: async function* (count) {
      let missing = count;
      while (missing > 0) {
        if (rest.length === 0 && !(await more())) return;
        const piece = take(missing);
        missing -= piece.length;
        if (piece.length > 0) yield piece;
      }
    },
    readTo: async (end, max) => {
      for (;;) {
        const at = rest.indexOf(end);
        if (at >= 0 && at < max) return take(at + 1);
        if (rest.length >= max || !(await more())) return null;
      }
    },
  };
}
