/** Bytes of a header before the payload length that follows, and from which payload length on it is 2 or 8 bytes more. */
const [shortHeader, fitsSevenBits, fitsSixteenBits] = [2, 125, 65_535];
/** The last frame of its message, text (RFC 6455, section 5.2). */
const finalText = 0x81;

/**
 * Text frames as a server sends them (RFC 6455, section 5.2: whole, not masked), one after the other: one write sends them all, and the same
 * bytes go to any number of clients.
 * @param bytes of the text in UTF-8.
 */
export function textFrames(messages: readonly { text: string; bytes: number }[]): Buffer {
  const frames = Buffer.allocUnsafe(messages.reduce((sum, { bytes }) => sum + headerBytes(bytes) + bytes, 0));
  let at = 0;
  for (const { text, bytes } of messages) {
    at = writeHeader(frames, at, bytes);
    at += frames.write(text, at, 'utf8');
  }
  return frames;
}

function headerBytes(payload: number): number {
  if (payload <= fitsSevenBits) return shortHeader;
  return shortHeader + (payload <= fitsSixteenBits ? 2 : 8);
}

/** @returns where the payload begins. */
function writeHeader(frames: Buffer, at: number, payload: number): number {
  frames[at] = finalText;
  if (payload <= fitsSevenBits) {
    frames[at + 1] = payload;
  } else if (payload <= fitsSixteenBits) {
    frames[at + 1] = 126;
    frames.writeUInt16BE(payload, at + 2);
  } else {
    frames[at + 1] = 127;
    frames.writeBigUInt64BE(BigInt(payload), at + 2);
  }
  return at + headerBytes(payload);
}
