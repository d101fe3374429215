import { type Disk, readText } from '@station/kit/durable-files';
import type { BackendLogger } from '@station/kit/logger';
import { every } from '@station/kit/timers';

/** As often as the agent looks whether it needs a new one. */
const lookMs = 60_000;

type Parts = {
  /** PEM of a certificate and its key. */
  file: string;
  /** @throws when it is none. */
  use: (pem: string) => void;
  disk: Disk;
  logger: BackendLogger;
};

/** Gives the embedded broker its certificate, and each new one: the agent renews it, and may make the first one later. */
export async function followCertificate({ file, use, disk, logger }: Parts): Promise<Disposable> {
  let known: string | null = null;
  const look = async (): Promise<void> => {
    const pem = await readText(disk, file);
    if (pem === known) return;
    if (pem === null) throw new Error(`there is no file ${file}`);
    use(pem);
    known = pem;
  };
  const lookSafely = (): Promise<void> =>
    look().catch((error: unknown) => logger.failed('the certificate of the broker', error));
  await lookSafely();
  return every(lookMs, () => void lookSafely());
}
