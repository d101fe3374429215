import { decodeQR } from 'qr/decode.js';

/** Longest side of the picture that is searched, px, and how long the search may take: a camera sends another picture soon. */
const photo = { side: 2_000, timeLimit: 3_000 };
const frame = { side: 900, timeLimit: 100 };

type Picture = { source: CanvasImageSource; width: number; height: number };

/** The text of the QR code in a photo; null: none was found. */
export async function readPhoto(file: Blob): Promise<string | null> {
  const source = await createImageBitmap(file);
  return readPicture({ source, width: source.width, height: source.height }, photo);
}

/** The text of the QR code that the camera sees now. */
export const readVideo = (video: HTMLVideoElement): string | null =>
  video.videoWidth === 0
    ? null
    : readPicture({ source: video, width: video.videoWidth, height: video.videoHeight }, frame);

function readPicture({ source, width, height }: Picture, { side, timeLimit }: typeof photo): string | null {
  const scale = Math.min(1, side / Math.max(width, height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) return null;
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  try {
    return decodeQR({ width: canvas.width, height: canvas.height, data }, { timeLimit });
  } catch {
    // The library throws when it finds no code.
    return null;
  }
}
