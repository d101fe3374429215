/**
 * A program: a whole backend with twenty devices, claimed by a cloud on a loopback port. Arguments: data directory,
 * port. Answers a request with its URL and a token.
 */
import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { createCloudConfigStore } from '../../../apps/backend/src/cloud/cloud-config-store.ts';
import { addDevice } from '../../../apps/backend/testing/test-device.ts';
import { runBackend } from '../../../apps/backend/testing/running-backend.ts';
import { openSecretBox } from '../../../apps/backend/src/store/secret-box.ts';
import { answerRequests } from '../load/pinned.ts';

export type ClaimedBackend = { url: string; token: string };

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
  // The bench changes the cloud's behaviour every few seconds; the station must reconnect immediately.
  cloudTuning: { reconnect: { nextMs: () => 50, stable: () => undefined } },
});
for (let index = 0; index < 20; index++) await addDevice(running.backend.db, `d${index}`);
const { accessToken } = await running.setUp();
const claimed: ClaimedBackend = { url: running.backend.url, token: accessToken };
answerRequests(async () => claimed);
process.on('disconnect', () => process.exit());
