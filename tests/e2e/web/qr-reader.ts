import jsQR from 'jsqr';
import type { Locator, Page } from 'playwright-core';

/** What the camera of a phone reads on the screen; null: no QR code is to be seen. */
export async function readQrCode(page: Page, where: Locator): Promise<string | null> {
  const picture = (await where.screenshot()).toString('base64');
  // The browser itself takes the picture apart: no decoder of PNG is needed.
  const { data, width, height } = await page.evaluate<{ data: number[]; width: number; height: number }>(`(async () => {
    const bytes = Uint8Array.from(atob('${picture}'), (one) => one.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const { width, height } = bitmap;
    const canvas = new OffscreenCanvas(width, height).getContext('2d');
    canvas.drawImage(bitmap, 0, 0);
    return { data: [...canvas.getImageData(0, 0, width, height).data], width, height };
  })()`);
  return jsQR.default(Uint8ClampedArray.from(data), width, height)?.data ?? null;
}
