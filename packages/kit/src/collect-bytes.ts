/**
 * All bytes of a source; null when there are more than `maxBytes`. Takes memory for the bytes alone, however small their pieces are: each
 * piece that is kept takes hundreds of bytes beside its own.
 */
export async function collectBytes(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | null> {
  let room = Buffer.alloc(0);
  let size = 0;
  for await (const piece of source) {
    const next = size + piece.length;
    if (next > maxBytes) return null;
    if (next > room.length) {
      const larger = Buffer.alloc(Math.min(maxBytes, Math.max(next, 2 * room.length)));
      larger.set(room.subarray(0, size));
      room = larger;
    }
    room.set(piece, size);
    size = next;
  }
  return room.subarray(0, size);
}
