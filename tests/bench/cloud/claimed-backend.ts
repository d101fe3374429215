/** A whole backend with twenty devices, claimed by a cloud at this port of loopback: data directory, port. Says where it is. */
import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createCloudConfigStore } from '../../../apps/backend/src/cloud/cloud-config-store.ts';
import { addDevice } from '../../../apps/backend/src/testing/test-device.ts';
import { runBackend } from '../../../apps/backend/src/testing/running-backend.ts';
import { openSecretBox } from '../../../apps/backend/src/store/secret-box.ts';
import { answerRequests } from '../load/pinned.ts';

export type Where = { url: string; token: string };

const [folder = '', port = ''] = process.argv.slice(2);
const dataDir = join(folder, 'data');
{
  await using first = await runBackend({ dataDir });
  const box = await openSecretBox({ disk: nodeDisk, path: join(dataDir, 'settings-key') });
  await createCloudConfigStore({ db: first.backend.db, box, clock: systemClock }).claim('a token that is long enough');
}
const running = await runBackend({
  dataDir,
  env: { CLOUD_HOST: `ws://127.0.0.1:${port}`, LOG_LEVEL: 'warn' },
  // The bench changes the cloud's manners every few seconds, and wants the station back at once.
  cloudTuning: { reconnect: { nextMs: () => 50, stable: () => undefined } },
});
for (let index = 0; index < 20; index++) await addDevice(running.backend.db, `d${index}`);
const { accessToken } = await running.setUp();
const where: Where = { url: running.backend.url, token: accessToken };
answerRequests(async () => where);
process.on('disconnect', () => process.exit());
